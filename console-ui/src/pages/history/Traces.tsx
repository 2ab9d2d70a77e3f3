// ElasticJob's own tables: the runs of shards, and the states of runs, that its members and ours wrote there.

import { type ReactNode, useMemo, useState } from "react";
import { answer, api } from "../../api/client";
import type { TracedRun, TracedState } from "../../api/types";
import { Badge, type Tone } from "../../components/Badge";
import { Dialog } from "../../components/Dialog";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { Time, Took } from "../../components/Time";
import { type Column, VirtualTable } from "../../components/VirtualTable";
import { common } from "../../i18n/common";
import { history as words } from "../../i18n/history";
import { useWords } from "../../i18n/language";
import { PAGE, useEndless } from "../../lib/endless";
import { type Asked, useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";
import { Choose, question, Stretch } from "./Filters";
import { JobFilter, ServerFilter } from "./Suggest";

const STATES = [
  "TASK_STAGING",
  "TASK_RUNNING",
  "TASK_FINISHED",
  "TASK_ERROR",
  "TASK_KILLED",
  "TASK_LOST",
  "TASK_FAILED",
  "TASK_DROPPED",
  "TASK_GONE",
  "TASK_GONE_BY_OPERATOR",
  "TASK_UNREACHABLE",
  "TASK_UNKNOWN",
] as const;

const TONES: Readonly<Record<string, Tone>> = {
  TASK_STAGING: "off",
  TASK_RUNNING: "run",
  TASK_FINISHED: "ok",
  TASK_UNKNOWN: "off",
};

/** What both lists are asked by. */
function shared(asked: Asked) {
  const { job, begin, end } = question(asked);
  return { job, begin, end };
}

/** The runs: ElasticJob's "Job trace". */
export function TracedRuns() {
  const t = useWords(words);
  const w = useWords(common);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const [open, setOpen] = useState<TracedRun | null>(null);
  const wanted = {
    ...shared(asked),
    // A process is known there by its server.
    ip: asked.server?.split("@-@")[0] || undefined,
    success: asked.success === "true" ? true : asked.success === "false" ? false : undefined,
  };
  const { found, rows, onRange } = useEndless({
    key: [registry, "traces", "runs", wanted],
    fetch: (after) =>
      answer(
        api.GET("/api/r/{registry}/traces", {
          params: { path: { registry }, query: { ...wanted, limit: PAGE, after } },
        }),
      ),
    rows: (page) => page.runs,
  });
  const columns = useMemo((): Column<TracedRun>[] => {
    return [
      { id: "began", title: t.began, width: "140px", cell: (run) => <Time at={run.began} /> },
      { id: "job", title: t.job, width: "minmax(140px, 1.6fr)", cell: (run) => run.job },
      { id: "shard", title: t.shard, width: "70px", align: "end", cell: (run) => run.shard },
      {
        id: "result",
        title: t.result,
        width: "minmax(130px, 1fr)",
        cell: (run) => <Result run={run} />,
      },
      {
        id: "took",
        title: t.took,
        width: "90px",
        align: "end",
        wide: true,
        cell: (run) => <Took began={run.began} ended={run.ended} />,
      },
      {
        id: "server",
        title: t.traceServer,
        width: "minmax(110px, 1fr)",
        wide: true,
        cell: (run) => <span className="mono muted">{run.ip}</span>,
      },
      {
        id: "failure",
        title: t.failure,
        width: "minmax(150px, 2fr)",
        wide: true,
        cell: (run) => <span className="muted">{firstLine(run.failure)}</span>,
      },
    ];
  }, [t]);
  return (
    <>
      <search className="filters" aria-label={t.filters}>
        <JobFilter value={asked.job ?? ""} onChange={(job) => ask({ job })} />
        <ServerFilter
          label={t.traceServer}
          value={asked.server ?? ""}
          onChange={(server) => ask({ server })}
        />
        <Choose
          label={t.outcome}
          value={asked.success}
          options={[
            ["true", w.outcomes.ok],
            ["false", t.unsuccessful],
          ]}
          onChange={(success) => ask({ success })}
        />
        <Stretch keys={["job", "server", "success", "begin", "end"]} />
      </search>
      <List found={found}>
        <VirtualTable
          label={t.traceRuns}
          columns={columns}
          rows={rows}
          rowKey={(run) => run.id}
          onRange={onRange}
          onOpen={setOpen}
          empty={<None />}
          foot={t.shown(rows.length)}
        />
      </List>
      {open && (
        <Dialog title={t.runOf(open.job, open.shard)} onClose={() => setOpen(null)} wide>
          <dl className="facts">
            <dt>{t.result}</dt>
            <dd>
              <Result run={open} />
            </dd>
            <dt>{t.began}</dt>
            <dd>
              <Time at={open.began} />
            </dd>
            <dt>{t.took}</dt>
            <dd>
              <Took began={open.began} ended={open.ended} />
            </dd>
            <dt>{t.traceServer}</dt>
            <dd className="mono">
              {open.ip} <span className="muted">({open.host})</span>
            </dd>
            <dt>{t.source}</dt>
            <dd>{open.source}</dd>
            <dt>{t.task}</dt>
            <dd className="mono">{open.task}</dd>
          </dl>
          {open.failure && <pre className="lines bad">{open.failure}</pre>}
        </Dialog>
      )}
    </>
  );
}

/** The states: ElasticJob's "History status". */
export function TracedStates() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const [open, setOpen] = useState<TracedState | null>(null);
  const wanted = { ...shared(asked), state: STATES.find((each) => each === asked.state) };
  const { found, rows, onRange } = useEndless({
    key: [registry, "traces", "states", wanted],
    fetch: (after) =>
      answer(
        api.GET("/api/r/{registry}/traces/states", {
          params: { path: { registry }, query: { ...wanted, limit: PAGE, after } },
        }),
      ),
    rows: (page) => page.states,
  });
  const columns = useMemo((): Column<TracedState>[] => {
    return [
      { id: "at", title: t.at, width: "140px", cell: (one) => <Time at={one.at} /> },
      { id: "job", title: t.job, width: "minmax(140px, 1.6fr)", cell: (one) => one.job },
      { id: "shards", title: t.shards, width: "minmax(80px, 1fr)", cell: (one) => one.shards },
      { id: "state", title: t.state, width: "minmax(180px, 1fr)", cell: (one) => <State of={one} /> },
      {
        id: "server",
        title: t.traceServer,
        width: "minmax(110px, 1fr)",
        wide: true,
        cell: (one) => <span className="mono muted">{one.server}</span>,
      },
      {
        id: "message",
        title: t.message,
        width: "minmax(150px, 2fr)",
        wide: true,
        cell: (one) => <span className="muted">{firstLine(one.message)}</span>,
      },
    ];
  }, [t]);
  return (
    <>
      <search className="filters" aria-label={t.filters}>
        <JobFilter value={asked.job ?? ""} onChange={(job) => ask({ job })} />
        <Choose
          label={t.state}
          value={asked.state}
          options={STATES.map((each) => [each, each])}
          onChange={(state) => ask({ state })}
        />
        <Stretch keys={["job", "state", "begin", "end"]} />
      </search>
      <List found={found}>
        <VirtualTable
          label={t.traceStates}
          columns={columns}
          rows={rows}
          rowKey={(one) => one.id}
          onRange={onRange}
          onOpen={setOpen}
          empty={<None />}
          foot={t.shown(rows.length)}
        />
      </List>
      {open && (
        <Dialog title={open.job} onClose={() => setOpen(null)} wide>
          <dl className="facts">
            <dt>{t.state}</dt>
            <dd>
              <State of={open} />
            </dd>
            <dt>{t.at}</dt>
            <dd>
              <Time at={open.at} />
            </dd>
            <dt>{t.shards}</dt>
            <dd>{open.shards}</dd>
            <dt>{t.traceServer}</dt>
            <dd className="mono">{open.server}</dd>
            <dt>{t.task}</dt>
            <dd className="mono">{open.task}</dd>
          </dl>
          {open.message && <pre className="lines">{open.message}</pre>}
        </Dialog>
      )}
    </>
  );
}

interface ListProps {
  found: { isPending: boolean; error: Error | null; refetch: () => unknown };
  children: ReactNode;
}

/** A list, once there is one. */
function List({ found, children }: ListProps) {
  if (found.isPending) return <Loading />;
  if (found.error) return <TroubleNote error={found.error} again={() => found.refetch()} />;
  return children;
}

function None() {
  const t = useWords(words);
  return (
    <EmptyState title={t.noTraces}>
      <p>{t.noTracesHelp}</p>
    </EmptyState>
  );
}

function Result({ run }: { run: TracedRun }) {
  const w = useWords(common);
  if (run.success) return <Badge tone="ok">{w.outcomes.ok}</Badge>;
  if (run.ended === null) return <Badge tone="run">{w.dispositions.RUNNING}</Badge>;
  return <Badge tone="bad">{w.outcomes.failed}</Badge>;
}

function State({ of }: { of: TracedState }) {
  return <Badge tone={TONES[of.state] ?? "bad"}>{of.state}</Badge>;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
