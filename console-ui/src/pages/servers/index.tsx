// Servers: the machines that jobs run on, and one of them with its jobs and instances.

import { useRoute } from "wouter";
import { unpart } from "../../lib/place";
import { ServerList } from "./ServerList";
import { ServerPage } from "./ServerPage";

export default function Servers() {
  const [one, named] = useRoute<{ registry: string; address: string }>("/r/:registry/servers/:address");
  return one ? <ServerPage address={unpart(named.address)} /> : <ServerList />;
}
