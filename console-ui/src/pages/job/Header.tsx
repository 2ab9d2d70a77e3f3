import { useState } from "react";
import { Link } from "wouter";
import { answer, api } from "../../api/client";
import type { JobPage } from "../../api/types";
import { StatusBadge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Menu } from "../../components/Menu";
import { Schedule } from "../../components/Schedule";
import { Time } from "../../components/Time";
import { common } from "../../i18n/common";
import { job as words } from "../../i18n/job";
import { useWords } from "../../i18n/language";
import { go } from "../../lib/place";
import { rests } from "../../lib/rests";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";
import { TriggerDialog } from "./TriggerDialog";

/** How the job stands, and what can be done to it as a whole. */
export function Header({ name, job }: { name: string; job: JobPage }) {
  const w = useWords(words);
  const { to } = useRegistry();
  const { brief, members } = job;
  const coming = rests(brief.status) ? [] : brief.next_fires.slice(0, 3);
  const java = members.length > 0 && members.every((member) => !member.python);
  return (
    <>
      <header>
        <div className="grow">
          <div className="crumbs">
            <Link href={to("jobs")}>{w.fleet}</Link> /
          </div>
          <div className="row">
            <h1>{name}</h1>
            <StatusBadge status={brief.status} />
            {job.kind && <span className="tag">{job.kind}</span>}
          </div>
          {brief.description && <p>{brief.description}</p>}
        </div>
        <Actions name={name} job={job} />
      </header>
      <dl className="strip">
        <div>
          <dt>{useWords(common).schedule}</dt>
          <dd>
            <Schedule text={brief.schedule} none={w.byHand} />
          </dd>
        </div>
        <div>
          <dt>{w.nextFires}</dt>
          <dd className="next-fires">
            {coming.length === 0 && <span className="muted">{w.noNext}</span>}
            {coming.map((fire, index) => (
              <span key={fire}>
                <Time at={fire} />
                {index === 0 && (
                  <span className="muted">
                    {" "}
                    (<Time at={fire} relative />)
                  </span>
                )}
              </span>
            ))}
          </dd>
        </div>
        <div>
          <dt>{w.leader}</dt>
          <dd className="mono cut">{job.leader ?? <span className="muted">{w.noLeader}</span>}</dd>
        </div>
        <div>
          <dt>{useWords(common).shards}</dt>
          <dd>{w.runningNow(job.running, brief.shards ?? 0)}</dd>
        </div>
      </dl>
      {java && <p className="note">{w.java}</p>}
      {(job.trouble || brief.trouble) && (
        <p className="note bad">{w.unreadable(job.trouble || brief.trouble)}</p>
      )}
    </>
  );
}

function Actions({ name, job }: { name: string; job: JobPage }) {
  const w = useWords(words);
  const c = useWords(common);
  const registry = useRegistry();
  const confirm = useConfirm();
  const act = useAct();
  const [triggering, setTriggering] = useState(false);
  if (!registry.may("operator")) return null;

  const { status, instances } = job.brief;
  const path = { registry: registry.name, job: name };
  const nobody = instances === 0 ? w.nobodyIn : undefined;
  const someDisabled = job.servers.some((server) => server.state === "DISABLED");

  const enable = async () => {
    if (await confirm({ ...ask(w.enable, name), action: c.enable })) {
      await act(() =>
        answer(api.POST("/api/r/{registry}/jobs/{job}/enable", { params: { path }, body: {} })),
      );
    }
  };
  const disable = async () => {
    if (await confirm({ ...ask(w.disable, name), action: c.disable, danger: true })) {
      await act(() =>
        answer(api.POST("/api/r/{registry}/jobs/{job}/disable", { params: { path }, body: {} })),
      );
    }
  };
  const shutdown = async () => {
    if (await confirm({ ...ask(w.shutdown, name), action: c.shutdown, danger: true })) {
      await act(() =>
        answer(api.POST("/api/r/{registry}/jobs/{job}/shutdown", { params: { path }, body: {} })),
      );
    }
  };
  const remove = async () => {
    const force = instances > 0;
    const body = force ? `${w.remove.body} ${w.remove.force}` : w.remove.body;
    const sure = await confirm({
      title: w.remove.title(name),
      body,
      action: c.remove,
      danger: true,
      typed: name,
    });
    if (!sure) return;
    const done = await act(() =>
      answer(api.DELETE("/api/r/{registry}/jobs/{job}", { params: { path, query: { force } } })),
    );
    if (done) go(registry.to("jobs"));
  };

  return (
    <div className="row">
      <Button
        kind="primary"
        icon="play"
        why={nobody ?? (status === "DISABLED" ? w.trigger.disabled : undefined)}
        onClick={() => setTriggering(true)}
      >
        {c.trigger}
      </Button>
      {someDisabled ? (
        <Button onClick={enable}>{c.enable}</Button>
      ) : (
        <Button onClick={disable} why={job.servers.length === 0 ? w.nobodyIn : undefined}>
          {c.disable}
        </Button>
      )}
      <Menu
        label={c.more}
        icon="more"
        kind="plain"
        items={[
          {
            title: c.enable,
            onChoose: enable,
            why: someDisabled ? undefined : w.alreadyEnabled,
          },
          { title: c.disable, onChoose: disable, why: job.servers.length === 0 ? w.nobodyIn : undefined },
          { title: c.shutdown, onChoose: shutdown, danger: true, why: nobody },
          "line",
          {
            title: c.remove,
            onChoose: remove,
            danger: true,
            why: registry.may("author") ? undefined : w.needsAuthor,
          },
        ]}
      />
      {triggering && <TriggerDialog name={name} job={job} onClose={() => setTriggering(false)} />}
    </div>
  );
}

function ask(question: { title: (job: string) => string; body: string }, name: string) {
  return { title: question.title(name), body: question.body };
}
