// One job: how it stands at its head, and everything about it below, by tabs.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { answer, api } from "../../api/client";
import type { JobPage as Job } from "../../api/types";
import { Loading, TroubleNote } from "../../components/States";
import { Tabs } from "../../components/Tabs";
import { job as words } from "../../i18n/job";
import { useWords } from "../../i18n/language";
import { go } from "../../lib/place";
import { keys } from "../../live/live";
import { useRegistry } from "../../shell/registry";
import { Header } from "./Header";
import "./job.css";
import { Members } from "./Members";
import { Nodes } from "./Nodes";
import { Past } from "./Past";
import { PreviewTab } from "./Preview";
import { SettingsTab } from "./settings/SettingsTab";
import { ShardsTab } from "./shards/ShardsTab";
import { useShardMap } from "./shards/useShardMap";
import { TimelineTab } from "./timeline/TimelineTab";

export interface PartProps {
  name: string;
  job: Job;
}

const PARTS = {
  shards: ShardsTab,
  timeline: TimelineTab,
  settings: SettingsTab,
  members: Members,
  past: Past,
  preview: PreviewTab,
  nodes: Nodes,
} satisfies Record<string, (props: PartProps) => ReactNode>;

type Part = keyof typeof PARTS;
const ORDER = Object.keys(PARTS) as Part[];

export default function JobPage({ job: name, tab }: { job: string; tab: string | undefined }) {
  const w = useWords(words);
  const registry = useRegistry();
  const found = useQuery({
    queryKey: keys.job(registry.name, name),
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/jobs/{job}", { params: { path: { registry: registry.name, job: name } } }),
      ),
  });
  const current = ORDER.find((each) => each === tab) ?? "shards";
  const Shown = PARTS[current];
  // Asked for beside the rest: with ten thousand shards each takes its time.
  useShardMap(name, current === "shards");

  if (!found.data) {
    return (
      <div className="page">
        <h1>{name}</h1>
        {found.error ? <TroubleNote error={found.error} again={found.refetch} /> : <Loading />}
      </div>
    );
  }
  return (
    <div className="page">
      <Header name={name} job={found.data} />
      <TroubleNote error={found.error} again={found.refetch} />
      <Tabs
        label={w.tabs}
        tabs={ORDER.map((id) => ({ id, title: w.tab[id] }))}
        current={current}
        onChange={(id) => go(registry.to("jobs", name, id), { replace: true })}
      >
        <Shown name={name} job={found.data} />
      </Tabs>
    </div>
  );
}
