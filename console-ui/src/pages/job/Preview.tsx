// What would move if: asked of the leader's own rule, and nothing is changed.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { answer, api } from "../../api/client";
import type { Move, Preview } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Field } from "../../components/Field";
import { Loading, TroubleNote } from "../../components/States";
import { type Column, VirtualTable } from "../../components/VirtualTable";
import { common } from "../../i18n/common";
import { job as words } from "../../i18n/job";
import { useWords } from "../../i18n/language";
import { useRegistry } from "../../shell/registry";
import type { PartProps } from ".";

type What = "leave" | "join" | "shards";
type Asked = { leave: string[] } | { join: number; server?: string } | { shards: number };

export function PreviewTab({ name, job }: PartProps) {
  const w = useWords(words).preview;
  const { name: registry } = useRegistry();
  const [what, setWhat] = useState<What>("leave");
  const [who, setWho] = useState(job.members[0]?.id ?? "");
  const [count, setCount] = useState(1);
  const [server, setServer] = useState("");
  const [shards, setShards] = useState(job.brief.shards ?? 1);
  const [asked, setAsked] = useState<Asked | null>(null);
  const found = useQuery({
    queryKey: [registry, "preview", name, asked],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/jobs/{job}/preview", {
          params: { path: { registry, job: name }, query: asked ?? {} },
        }),
      ),
    enabled: asked !== null,
    retry: false,
    placeholderData: keepPreviousData,
  });
  const look = () => {
    if (what === "leave" && who) setAsked({ leave: [who] });
    if (what === "join") setAsked({ join: count, ...(server && { server }) });
    if (what === "shards") setAsked({ shards });
  };

  return (
    <>
      <form
        className="card stack"
        onSubmit={(event) => {
          event.preventDefault();
          look();
        }}
      >
        <p className="muted">{w.why}</p>
        <div className="row" role="radiogroup" aria-label={w.look}>
          {(["leave", "join", "shards"] as const).map((each) => (
            <label key={each} className="check">
              <input type="radio" name="what" checked={what === each} onChange={() => setWhat(each)} />
              {w[each]}
            </label>
          ))}
        </div>
        <div className="filters">
          {what === "leave" && (
            <Field label={w.who}>
              {(props) => (
                <select
                  {...props}
                  className="input"
                  value={who}
                  onChange={(event) => setWho(event.target.value)}
                >
                  {job.members.map((member) => (
                    <option key={member.id} value={member.id}>
                      {member.id}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
          {what === "join" && (
            <>
              <Field label={w.count}>
                {(props) => (
                  <input
                    {...props}
                    className="input"
                    type="number"
                    min={1}
                    max={1000}
                    value={count}
                    onChange={(event) => setCount(Number(event.target.value))}
                  />
                )}
              </Field>
              <Field label={w.server}>
                {(props) => (
                  <input
                    {...props}
                    className="input"
                    placeholder={w.serverHint}
                    value={server}
                    onChange={(event) => setServer(event.target.value)}
                  />
                )}
              </Field>
            </>
          )}
          {what === "shards" && (
            <Field label={w.shards}>
              {(props) => (
                <input
                  {...props}
                  className="input"
                  type="number"
                  min={1}
                  max={100_000}
                  value={shards}
                  onChange={(event) => setShards(Number(event.target.value))}
                />
              )}
            </Field>
          )}
          <Button type="submit" kind="primary" disabled={what === "leave" && !who}>
            {w.look}
          </Button>
        </div>
      </form>
      <TroubleNote error={found.error} />
      {asked && found.isFetching && !found.data && <Loading />}
      {asked && found.data && !found.error && <Answer preview={found.data} job={job} />}
    </>
  );
}

function Answer({ preview, job }: { preview: Preview; job: PartProps["job"] }) {
  const w = useWords(words).preview;
  const c = useWords(common);
  const owned = new Map(job.members.map((member) => [member.id, member.owns]));
  const everybody = [...new Set([...owned.keys(), ...Object.keys(preview.counts)])];
  const most = Math.max(1, ...owned.values(), ...Object.values(preview.counts));
  const total = Object.keys(preview.owners).length;
  const columns = useMemo<Column<Move>[]>(
    () => [
      {
        id: "item",
        title: c.shard,
        width: "80px",
        align: "end",
        sort: (a, b) => a.item - b.item,
        cell: (move) => move.item,
      },
      {
        id: "before",
        title: w.before,
        width: "minmax(120px, 1fr)",
        cell: (move) => <span className="mono">{move.before || w.nobody}</span>,
      },
      {
        id: "after",
        title: w.after,
        width: "minmax(120px, 1fr)",
        cell: (move) => <span className="mono">{move.after || w.nobody}</span>,
      },
      {
        id: "running",
        title: c.status,
        width: "minmax(60px, 1fr)",
        wide: true,
        cell: (move) => move.running && <Badge tone="run">{w.whileRunning}</Badge>,
      },
    ],
    [w, c],
  );
  return (
    <>
      <p className="note" role="status">
        <strong>{preview.moves.length === 0 ? w.nothing : w.moves(preview.moves.length, total)}</strong>{" "}
        {preview.what}
        {preview.note && <>. {preview.note}</>}
      </p>
      <div className="table-wrap">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{w.load}</th>
              <th scope="col" className="end">
                {w.now}
              </th>
              <th scope="col" className="end">
                {w.later}
              </th>
              <td />
            </tr>
          </thead>
          <tbody>
            {everybody.map((id) => {
              const [before, after] = [owned.get(id) ?? 0, preview.counts[id] ?? 0];
              return (
                <tr key={id}>
                  <th scope="row" className="mono">
                    {id}
                  </th>
                  <td className="end">{before}</td>
                  <td className="end">{after}</td>
                  <td aria-hidden="true" className="bars">
                    <span className="load-bar before" style={{ width: `${(before / most) * 100}%` }} />
                    <span className="load-bar" style={{ width: `${(after / most) * 100}%` }} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {preview.moves.length > 0 && (
        <VirtualTable<Move>
          label={w.moves(preview.moves.length, total)}
          short
          columns={columns}
          rows={preview.moves}
          rowKey={(move) => String(move.item)}
          rowHeight={32}
        />
      )}
    </>
  );
}
