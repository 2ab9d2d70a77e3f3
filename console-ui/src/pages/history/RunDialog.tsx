// One shard of one fire: what became of it and why, its attempts and what each wrote to the log.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { answer, api } from "../../api/client";
import type { Attempt, Fire, Try } from "../../api/types";
import { Badge, OutcomeBadge, outcomeTone } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Dialog } from "../../components/Dialog";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { Duration, Time, Took } from "../../components/Time";
import { common } from "../../i18n/common";
import { history as words } from "../../i18n/history";
import { useWords } from "../../i18n/language";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";
import { FireTook } from "./FireTook";
import { type Run, wasAsked } from "./run";

export function RunDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const t = useWords(words);
  const { name: registry, to } = useRegistry();
  const { job, fire } = run;
  const found = useQuery({
    queryKey: [registry, "why", job, fire],
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/why", { params: { path: { registry }, query: { job, fire } } })),
    // It may be running, or be run again.
    refetchInterval: 2000,
  });
  const one = found.data?.shards.find(
    (each) => each.shard === run.shard && (run.made === null || each.made === run.made),
  );
  return (
    <Dialog
      title={t.runOf(job, run.shard)}
      onClose={onClose}
      wide
      footer={
        <>
          <Link className="button" href={to("jobs", job)}>
            {t.goToJob}
          </Link>
          <Rerun run={run} />
        </>
      }
    >
      {found.isPending && <Loading />}
      {found.error && <TroubleNote error={found.error} again={() => found.refetch()} />}
      {found.data && (
        <>
          {one ? <Facts fire={one} /> : <EmptyState title={t.none} />}
          <section>
            <h3>{t.why}</h3>
            <pre className="note why">{found.data.words}</pre>
          </section>
          {one && one.attempts.length > 0 && (
            <section className="stack">
              <h3>{t.attempts}</h3>
              {one.attempts.map((attempt) => (
                <OneAttempt key={attempt.id} of={one} attempt={attempt} />
              ))}
            </section>
          )}
        </>
      )}
    </Dialog>
  );
}

function Facts({ fire }: { fire: Fire }) {
  const t = useWords(words);
  return (
    <dl className="facts">
      <dt>{t.disposition}</dt>
      <dd>
        <OutcomeBadge disposition={fire.disposition} outcome={fire.outcome} />
      </dd>
      <dt>{t.due}</dt>
      <dd>
        <Time at={fire.due} /> {wasAsked(fire.fire) && <span className="asked">{t.asked}</span>}
      </dd>
      <dt>{t.late}</dt>
      <dd>
        <Duration seconds={fire.late} />
      </dd>
      <dt>{t.took}</dt>
      <dd>
        <FireTook fire={fire} />
      </dd>
      <dt>{t.process}</dt>
      <dd className="mono">{fire.process || "–"}</dd>
      {fire.reason && (
        <>
          <dt>{t.reason}</dt>
          <dd>{fire.reason}</dd>
        </>
      )}
      {fire.later && (
        <>
          <dt>{t.later}</dt>
          <dd className="mono">{fire.later}</dd>
        </>
      )}
    </dl>
  );
}

function OneAttempt({ of, attempt }: { of: Fire; attempt: Attempt }) {
  const t = useWords(words);
  const w = useWords(common);
  const outcomes: Readonly<Record<string, string>> = w.outcomes;
  const sources: Readonly<Record<string, string>> = t.sources;
  const disposition = attempt.outcome ? "RAN" : "RUNNING";
  return (
    <article className="card attempt">
      <header>
        <h4>{t.attempt(attempt.number)}</h4>
        <Badge tone={outcomeTone(disposition, attempt.outcome)}>
          {attempt.outcome ? (outcomes[attempt.outcome] ?? attempt.outcome) : w.dispositions.RUNNING}
        </Badge>
      </header>
      <dl className="facts">
        <dt>{t.began}</dt>
        <dd>
          <Time at={attempt.began} />
        </dd>
        <dt>{t.took}</dt>
        <dd>
          <Took began={attempt.began} ended={attempt.ended} />
        </dd>
        <dt>{t.process}</dt>
        <dd className="mono">
          {attempt.process} {attempt.host && <span className="muted">({attempt.host})</span>}
        </dd>
        <dt>{t.source}</dt>
        <dd>{sources[attempt.source] ?? attempt.source}</dd>
      </dl>
      {attempt.tries.map((each) => (
        <OneTry key={each.number} tried={each} />
      ))}
      {attempt.failure && (
        <>
          <h5>{t.failure}</h5>
          <Text text={attempt.failure} bad />
        </>
      )}
      <h5>{t.log}</h5>
      <AttemptLog of={of} attempt={attempt} />
    </article>
  );
}

/** A try that came out badly, and that another followed. */
function OneTry({ tried }: { tried: Try }) {
  const t = useWords(words);
  const outcomes: Readonly<Record<string, string>> = useWords(common).outcomes;
  return (
    <details className="try">
      <summary>
        {t.tried(tried.number)} <Badge tone="bad">{outcomes[tried.outcome] ?? tried.outcome}</Badge>{" "}
        <Time at={tried.ended} /> <Took began={tried.began} ended={tried.ended} />
      </summary>
      {tried.failure && <Text text={tried.failure} bad />}
    </details>
  );
}

function AttemptLog({ of, attempt }: { of: Fire; attempt: Attempt }) {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const { job, made, fire, shard } = of;
  const found = useQuery({
    queryKey: [registry, "log", job, made, fire, shard, attempt.id, attempt.outcome],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/history/log", {
          params: { path: { registry }, query: { job, made, fire, shard, attempt: attempt.id } },
        }),
      ),
    retry: false,
  });
  if (found.isPending) return <p className="muted">{t.loading}</p>;
  if (!found.data?.text) return <p className="muted">{t.noLog}</p>;
  return (
    <>
      {found.data.left_out > 0 && <p className="muted">{t.leftOut(found.data.left_out)}</p>}
      <Text text={found.data.text} />
    </>
  );
}

function Text({ text, bad = false }: { text: string; bad?: boolean }) {
  return (
    <pre className={bad ? "lines bad" : "lines"} tabIndex={0}>
      {text}
    </pre>
  );
}

/** A fire of the calendar can be run once more: this shard, or all of them. */
function Rerun({ run }: { run: Run }) {
  const t = useWords(words);
  const { name: registry, may } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  if (!may("operator") || wasAsked(run.fire)) return null;
  const again = async (shards: number[] | null) => {
    const title = shards ? t.askRerun(run.shard, run.job) : t.askRerunFire(run.job);
    const action = shards ? t.rerun : t.rerunFire;
    if (!(await confirm({ title, body: t.askRerunText(run.fire), action }))) return;
    await act(() =>
      answer(
        api.POST("/api/r/{registry}/jobs/{job}/rerun", {
          params: { path: { registry, job: run.job } },
          body: { at: run.fire, shards },
        }),
      ),
    );
  };
  return (
    <>
      <Button onClick={() => again(null)}>{t.rerunFire}</Button>
      <Button kind="primary" icon="play" onClick={() => again([run.shard])}>
        {t.rerun}
      </Button>
    </>
  );
}
