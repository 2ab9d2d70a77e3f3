// The fleet: all jobs of a registry at a glance, live, however many there are.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { JobRow } from "../../api/types";
import { Search } from "../../components/Search";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { type Order, VirtualTable } from "../../components/VirtualTable";
import { common } from "../../i18n/common";
import { fleet } from "../../i18n/fleet";
import { useWords } from "../../i18n/language";
import { useRested } from "../../lib/late";
import { go, useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";
import { Bulk } from "./Bulk";
import { columns } from "./columns";
import "./fleet.css";
import { Tiles } from "./Tiles";
import { type FleetAsked, useFleet } from "./useFleet";

const OUTCOMES = ["ok", "failed", "timed out", "superseded"] as const;
const STATUSES = ["OK", "SHARDING_FLAG", "DISABLED", "CRASHED"] as const;

export default function FleetPage() {
  const w = useWords(fleet);
  const c = useWords(common);
  const registry = useRegistry();
  const [place, ask] = useAsked();
  const searched = place.search ?? "";
  const [search, setSearch] = useState(searched);
  const rested = useRested(search);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [busy, setBusy] = useState(false);

  // What is typed goes into the address when it has rested; an address that changes otherwise comes in here.
  const sent = useRef(searched);
  useEffect(() => {
    sent.current = rested;
    ask({ search: rested });
  }, [rested, ask]);
  useEffect(() => {
    if (searched !== sent.current) setSearch(searched);
  }, [searched]);

  const asked = useMemo<FleetAsked>(
    () => ({
      search: searched,
      status: (place.status ?? "") as FleetAsked["status"],
      outcome: (place.outcome ?? "") as FleetAsked["outcome"],
      sort: (place.sort ?? "name") as FleetAsked["sort"],
      descending: place.descending === "true",
    }),
    [searched, place.status, place.outcome, place.sort, place.descending],
  );
  const found = useFleet(registry.name, asked);
  const shown = useMemo(() => columns(w, c, registry.to), [w, c, registry]);
  const open = useCallback((job: JobRow) => go(registry.to("jobs", job.name)), [registry]);
  const filtered = asked.search !== "" || asked.status !== "" || asked.outcome !== "";

  return (
    <div className="page fill">
      <h1 className="visually-hidden">{w.title}</h1>
      <Tiles registry={registry.name} status={asked.status} onStatus={(status) => ask({ status })} />
      <div className="filters" role="search">
        <Search className="input search" label={w.searchJobs} value={search} onChange={setSearch} />
        <select
          className="input"
          aria-label={c.status}
          value={asked.status}
          onChange={(event) => ask({ status: event.target.value })}
        >
          <option value="">
            {c.status}: {c.any}
          </option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {c.statuses[status]}
            </option>
          ))}
        </select>
        <select
          className="input"
          aria-label={w.lastOutcome}
          value={asked.outcome}
          onChange={(event) => ask({ outcome: event.target.value })}
        >
          <option value="">
            {w.lastOutcome}: {c.any}
          </option>
          {OUTCOMES.map((outcome) => (
            <option key={outcome} value={outcome}>
              {c.outcomes[outcome]}
            </option>
          ))}
        </select>
        <span className="muted grow end" role="status">
          {!found.pending && w.shown(found.total)}
        </span>
      </div>
      {chosen.size > 0 && (
        <Bulk
          registry={registry.name}
          chosen={chosen}
          total={found.total}
          busy={busy}
          onBusy={setBusy}
          onClear={() => setChosen(new Set())}
          onAll={async () => setChosen(new Set(await found.names()))}
          onDone={found.again}
        />
      )}
      <TroubleNote error={found.error} again={found.again} />
      {found.pending ? (
        <Loading />
      ) : (
        <VirtualTable<JobRow>
          label={w.table}
          columns={shown}
          count={found.total}
          at={found.at}
          onRange={found.onRange}
          rowKey={(job) => job.name}
          onOpen={open}
          {...(registry.may("operator") && { choice: { chosen, fixed: busy, onChange: setChosen } })}
          order={{ by: asked.sort, descending: asked.descending }}
          onOrder={(order: Order) => ask({ sort: order.by, descending: String(order.descending) })}
          empty={
            filtered ? (
              <EmptyState title={w.noneFit}>{w.noneFitWhy}</EmptyState>
            ) : (
              <EmptyState title={w.nothing}>{w.nothingWhy}</EmptyState>
            )
          }
        />
      )}
    </div>
  );
}
