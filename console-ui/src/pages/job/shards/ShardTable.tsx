import { useMemo, useState } from "react";
import { answer, api } from "../../../api/client";
import type { Item } from "../../../api/types";
import { Badge, StateBadge } from "../../../components/Badge";
import { TroubleNote } from "../../../components/States";
import { Time } from "../../../components/Time";
import { type Column, VirtualTable } from "../../../components/VirtualTable";
import { common } from "../../../i18n/common";
import { job as words } from "../../../i18n/job";
import { useWords } from "../../../i18n/language";
import { usePaged } from "../../../lib/paged";
import { keys } from "../../../live/live";
import { useRegistry } from "../../../shell/registry";
import { Outcome } from "./ShardDetail";

const PAGE = 200;
const STATES = ["PENDING", "RUNNING", "SHARDING_FLAG", "DISABLED"] as const;
type State = (typeof STATES)[number];

/** All shards of a job as a table. */
export function ShardTable({ name, onOpen }: { name: string; onOpen: (item: number) => void }) {
  const w = useWords(words);
  const c = useWords(common);
  const { name: registry } = useRegistry();
  const [state, setState] = useState<State | "">("");
  const found = usePaged({
    size: PAGE,
    key: (page) => [...keys.shards(registry, name), state, page],
    fetch: (page) =>
      answer(
        api.GET("/api/r/{registry}/jobs/{job}/shards", {
          params: {
            path: { registry, job: name },
            query: { offset: page * PAGE, limit: PAGE, ...(state && { state }) },
          },
        }),
      ),
    rows: (data) => data.shards,
  });
  const columns = useMemo<Column<Item>[]>(
    () => [
      { id: "item", title: w.shard.item, width: "70px", align: "end", cell: (row) => row.item },
      {
        id: "state",
        title: w.shard.state,
        width: "130px",
        cell: (row) => <StateBadge state={row.state} />,
      },
      {
        id: "owner",
        title: w.shard.owner,
        width: "minmax(130px, 2fr)",
        cell: (row) => (
          <>
            <span className="mono">{row.owner || "–"}</span>{" "}
            {row.failover && <Badge tone="odd">{w.map.failover}</Badge>}
          </>
        ),
      },
      {
        id: "parameter",
        title: w.shard.parameter,
        width: "minmax(80px, 1fr)",
        wide: true,
        cell: (row) => (
          <span className="mono" title={row.parameter}>
            {row.parameter}
          </span>
        ),
      },
      {
        id: "since",
        title: w.shard.runningSince,
        width: "124px",
        wide: true,
        cell: (row) => <Time at={row.running_since} />,
      },
      {
        id: "last",
        title: w.shard.last,
        width: "minmax(170px, 1fr)",
        wide: true,
        cell: (row) => (
          <>
            {row.last_fire && <Time at={row.last_fire} />} <Outcome outcome={row.last_outcome} />
          </>
        ),
      },
    ],
    [w],
  );
  return (
    <section className="stack" aria-label={w.shard.all}>
      <div className="row spread">
        <h2>{w.shard.all}</h2>
        <select
          className="input state-filter"
          aria-label={w.shard.state}
          value={state}
          onChange={(event) => setState(event.target.value as State | "")}
        >
          <option value="">
            {w.shard.state}: {c.any}
          </option>
          {STATES.map((each) => (
            <option key={each} value={each}>
              {c.states[each]}
            </option>
          ))}
        </select>
      </div>
      <TroubleNote error={found.error} />
      <VirtualTable<Item>
        label={w.shard.all}
        short
        columns={columns}
        count={found.total}
        at={found.at}
        onRange={found.onRange}
        rowKey={(row) => String(row.item)}
        onOpen={(row) => onOpen(row.item)}
        rowHeight={33}
        foot={c.rows(found.total)}
      />
    </section>
  );
}
