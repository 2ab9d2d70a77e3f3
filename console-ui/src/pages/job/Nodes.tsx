import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../../api/client";
import { Copy } from "../../components/Copy";
import { Search } from "../../components/Search";
import { Loading, TroubleNote } from "../../components/States";
import { job as words } from "../../i18n/job";
import { useWords } from "../../i18n/language";
import { useRegistry } from "../../shell/registry";
import type { PartProps } from ".";

const MOST = 5000;

/** The job's nodes as they are in the registry. */
export function Nodes({ name }: PartProps) {
  const w = useWords(words).nodes;
  const { name: registry } = useRegistry();
  const [filter, setFilter] = useState("");
  const found = useQuery({
    queryKey: [registry, "dump", name],
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/jobs/{job}/dump", { params: { path: { registry, job: name } } })),
  });
  if (found.error) return <TroubleNote error={found.error} again={found.refetch} />;
  if (!found.data) return <Loading />;
  const lines = found.data.lines.filter((line) => line.includes(filter));
  return (
    <section className="card stack">
      <p className="muted">{w.why}</p>
      <div className="row">
        <Search className="input search" label={w.filter} value={filter} onChange={setFilter} />
        <span className="muted" role="status">
          {w.lines(lines.length)}
        </span>
        <Copy text={lines.join("\n")} />
      </div>
      <pre className="nodes mono" tabIndex={0}>
        {lines.slice(0, MOST).join("\n")}
        {lines.length > MOST && `\n… +${lines.length - MOST}`}
      </pre>
    </section>
  );
}
