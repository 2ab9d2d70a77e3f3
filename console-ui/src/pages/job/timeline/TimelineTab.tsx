import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../../../api/client";
import { Badge } from "../../../components/Badge";
import { Button } from "../../../components/Button";
import { EmptyState, Loading, TroubleNote } from "../../../components/States";
import { common } from "../../../i18n/common";
import { job as words } from "../../../i18n/job";
import { useWords } from "../../../i18n/language";
import { keys } from "../../../live/live";
import { useRegistry } from "../../../shell/registry";
import type { PartProps } from "..";
import { Gantt } from "./Gantt";

const ZOOMS = [5, 10, 20, 50];

/** So many shards are told at a time. */
const PAGE = 200;

/** The last fires by shards, as bars. */
export function TimelineTab({ name }: PartProps) {
  const w = useWords(words).timeline;
  const c = useWords(common);
  const registry = useRegistry();
  const [fires, setFires] = useState(20);
  const [mode, setMode] = useState<"fire" | "clock">("fire");
  const [before, setBefore] = useState<string[]>([]);
  const [first, setFirst] = useState(0);
  const from = before.at(-1);
  const found = useQuery({
    queryKey: [...keys.timeline(registry.name, name), fires, from, first],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/jobs/{job}/timeline", {
          params: {
            path: { registry: registry.name, job: name },
            query: { fires, first, ...(from !== undefined && { before: from }) },
          },
        }),
      ),
    enabled: registry.history,
    placeholderData: keepPreviousData,
  });
  if (!registry.history) return <EmptyState title={w.noHistory}>{w.noHistoryWhy}</EmptyState>;
  if (found.error) return <TroubleNote error={found.error} again={found.refetch} />;
  if (!found.data) return <Loading />;
  const earlier = found.data.before;
  const { next } = found.data;
  return (
    <section className="card stack" aria-label={w.title}>
      <div className="row spread">
        <h2>{w.title}</h2>
        <div className="row">
          <fieldset className="buttons">
            <legend className="visually-hidden">{w.fires}</legend>
            <span className="muted">{w.fires}</span>
            {ZOOMS.map((zoom) => (
              <Button
                key={zoom}
                small
                aria-pressed={fires === zoom}
                onClick={() => {
                  setFires(zoom);
                  setBefore([]);
                }}
              >
                {zoom}
              </Button>
            ))}
          </fieldset>
          <Button small aria-pressed={mode === "fire"} onClick={() => setMode("fire")}>
            {w.byFire}
          </Button>
          <Button small aria-pressed={mode === "clock"} onClick={() => setMode("clock")}>
            {w.byClock}
          </Button>
          <Button
            small
            icon="back"
            disabled={!earlier}
            onClick={() => earlier && setBefore([...before, earlier])}
          >
            {w.earlier}
          </Button>
          <Button small disabled={before.length === 0} onClick={() => setBefore([])}>
            {w.latest}
          </Button>
        </div>
      </div>
      {found.data.fires.length === 0 ? (
        <EmptyState title={w.none}>{w.noneWhy}</EmptyState>
      ) : (
        <Gantt name={name} timeline={found.data} mode={mode} />
      )}
      {(first > 0 || next !== null) && (
        <div className="row">
          <Button
            small
            icon="back"
            disabled={first === 0}
            onClick={() => setFirst(Math.max(0, first - PAGE))}
          >
            {w.lower}
          </Button>
          <span className="muted" role="status">
            {w.shards(first, first + PAGE - 1)}
          </span>
          <Button small disabled={next === null} onClick={() => next !== null && setFirst(next)}>
            {w.higher}
          </Button>
        </div>
      )}
      <div className="key">
        <Badge tone="ok">{c.outcomes.ok}</Badge>
        <Badge tone="bad">
          {c.outcomes.failed}, {c.outcomes["timed out"]}, {c.dispositions.LOST}
        </Badge>
        <Badge tone="odd">
          {c.dispositions.FAILED_OVER}, {c.dispositions.MADE_GOOD}
        </Badge>
        <Badge tone="run">{c.dispositions.RUNNING}</Badge>
        <Badge tone="off">
          {c.dispositions.SKIPPED}, {c.dispositions.UNKNOWN}
        </Badge>
      </div>
    </section>
  );
}
