// The stream of what changes. There is one for the page, of the registry that is looked at and of the job that
// is open; pages need not know of it: what they fetched is patched, or fetched anew.

import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { HERE } from "../api/client";
import { Hearing } from "./hearing";

export interface LiveState {
  state: "joining" | "live" | "away";
  /** What is wrong with the registry. */
  trouble: string | null;
  /** Since when nothing is heard of the console itself. */
  silent?: number;
}

const Live = createContext<LiveState>({ state: "joining", trouble: null });

export function useLiveState(): LiveState {
  return useContext(Live);
}

export { keys } from "./hearing";

const AGAIN = 3000;
const HIDDEN = 60_000;
/** The console says something every 15 s: one that has not for so long is gone, whatever the connection says. */
const QUIET = 40_000;
const GLANCE = 5000;

export function LiveProvider({
  registry,
  job,
  children,
}: {
  registry: string;
  job: string | undefined;
  children: ReactNode;
}) {
  return <Live.Provider value={useLive(registry, job)}>{children}</Live.Provider>;
}

/** Follow a registry, and one of its jobs closely. A page that nobody looks at for a while lets go: browsers
 * allow only few streams to one address. */
export function useLive(registry: string, job: string | undefined): LiveState {
  const client = useQueryClient();
  const [now, setNow] = useState<LiveState>({ state: "joining", trouble: null });
  const shown = useShown();

  useEffect(() => {
    if (!shown) return;
    const hearing = new Hearing(client, registry, job);
    let stream: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let heard = Date.now();

    const on = (name: string, take: (data: string) => void) =>
      stream?.addEventListener(name, (event) => {
        heard = Date.now();
        take(event.data);
      });
    const fallSilent = (since: number) =>
      setNow(({ trouble, silent = since }) => ({ state: trouble ? "away" : "joining", trouble, silent }));
    const open = () => {
      heard = Date.now();
      const asked = job === undefined ? "" : `?job=${encodeURIComponent(job)}`;
      stream = new EventSource(`${HERE}/api/r/${encodeURIComponent(registry)}/live${asked}`);
      on("hello", (data) => {
        setNow({ state: "live", trouble: null });
        hearing.hello(JSON.parse(data));
      });
      on("jobs", (data) => hearing.jobs(JSON.parse(data)));
      on("job", (data) => hearing.job(JSON.parse(data)));
      on("trouble", (data) =>
        setNow({ state: "away", trouble: (JSON.parse(data) as { error: string }).error }),
      );
      on("still", () => {});
      stream.addEventListener("error", () => {
        fallSilent(Date.now());
        if (stream?.readyState !== EventSource.CLOSED) return;
        // Refused rather than cut off: perhaps the session is over, which `about` tells.
        client.invalidateQueries({ queryKey: ["about"] });
        timer = setTimeout(open, AGAIN);
      });
    };
    open();
    const watch = setInterval(() => {
      if (Date.now() - heard < QUIET) return;
      fallSilent(heard);
      clearTimeout(timer);
      stream?.close();
      open();
    }, GLANCE);
    return () => {
      clearInterval(watch);
      clearTimeout(timer);
      stream?.close();
      hearing.close();
    };
  }, [client, registry, job, shown]);

  return now;
}

/** Whether anybody looks at the page, or did until a moment ago. */
function useShown(): boolean {
  const [shown, setShown] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (document.visibilityState === "visible") setShown(true);
      else timer = setTimeout(() => setShown(false), HIDDEN);
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return shown;
}
