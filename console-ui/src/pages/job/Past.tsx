// The past once more: one fire, or all of a stretch.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../../api/client";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Field } from "../../components/Field";
import { TroubleNote } from "../../components/States";
import { Time } from "../../components/Time";
import { common } from "../../i18n/common";
import { job as words } from "../../i18n/job";
import { locale, useLanguage, useWords } from "../../i18n/language";
import { ranges } from "../../lib/ranges";
import { local, moment, typed } from "../../lib/times";
import { keys } from "../../live/live";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";
import type { PartProps } from ".";

export function Past({ name, job }: PartProps) {
  const w = useWords(words);
  const { may } = useRegistry();
  const java = job.members.length > 0 && job.members.every((member) => !member.python);
  const cannot = !may("operator")
    ? w.needsOperator
    : java
      ? w.past.java
      : job.brief.schedule
        ? undefined
        : w.past.noSchedule;
  return (
    <>
      {cannot && <p className="note">{cannot}</p>}
      <div className="two">
        <Rerun name={name} job={job} cannot={cannot} />
        <Left name={name} />
      </div>
      <Backfill name={name} job={job} cannot={cannot} />
    </>
  );
}

interface Props extends PartProps {
  cannot: string | undefined;
}

function Rerun({ name, job, cannot }: Props) {
  const w = useWords(words);
  const { name: registry } = useRegistry();
  const act = useAct();
  const [at, setAt] = useState("");
  const [some, setSome] = useState("");
  const total = job.brief.shards ?? 0;
  const shards = ranges(some, total);
  const run = () =>
    shards &&
    act(() =>
      answer(
        api.POST("/api/r/{registry}/jobs/{job}/rerun", {
          params: { path: { registry, job: name } },
          body: { at: moment(at), ...(shards.length > 0 && { shards }) },
        }),
      ),
    );
  return (
    <form
      className="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <h2>{w.past.rerun}</h2>
      <p className="muted">{w.past.rerunWhy}</p>
      <Recent name={name} onChoose={(fire) => setAt(typed(Date.parse(fire)))} />
      <Field label={w.past.at} hint={w.past.atHint}>
        {(props) => <When {...props} value={at} onChange={setAt} disabled={cannot !== undefined} />}
      </Field>
      <ShardsField value={some} onChange={setSome} total={total} disabled={cannot !== undefined} />
      <div>
        <Button type="submit" kind="primary" why={cannot} disabled={!moment(at) || !shards}>
          {w.past.start}
        </Button>
      </div>
    </form>
  );
}

/** The last fires that the history knows of, to choose from. */
function Recent({ name, onChoose }: { name: string; onChoose: (fire: string) => void }) {
  const w = useWords(words).past;
  const speech = locale(useLanguage());
  const registry = useRegistry();
  const found = useQuery({
    queryKey: [...keys.timeline(registry.name, name), "recent"],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/jobs/{job}/timeline", {
          params: { path: { registry: registry.name, job: name }, query: { fires: 20 } },
        }),
      ),
    enabled: registry.history,
    retry: false,
  });
  // What was asked for has no time of its own in the schedule, by which it could be run again.
  const timed = found.data?.fires.filter((fire) => !fire.fire.startsWith("#")) ?? [];
  if (timed.length === 0) return null;
  return (
    <Field label={w.recent}>
      {(props) => (
        <select
          {...props}
          className="input"
          value=""
          onChange={(event) => event.target.value && onChoose(event.target.value)}
        >
          <option value="">…</option>
          {timed.map((fire) => (
            <option key={fire.fire} value={fire.due}>
              {local(Date.parse(fire.due), Date.now(), speech)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Backfill({ name, job, cannot }: Props) {
  const w = useWords(words);
  const c = useWords(common);
  const { name: registry } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  const [range, setRange] = useState({ begin: "", end: "" });
  const [some, setSome] = useState("");
  const [asked, setAsked] = useState<{ begin: string; end: string; shards: number[] } | null>(null);
  const total = job.brief.shards ?? 0;
  const shards = ranges(some, total);
  const [begin, end] = [moment(range.begin), moment(range.end)];
  const path = { registry, job: name };

  const would = useQuery({
    queryKey: [registry, "past", name, asked],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/jobs/{job}/past", {
          params: {
            path,
            query: {
              begin: asked?.begin ?? "",
              end: asked?.end ?? "",
              ...(asked?.shards.length && { shards: asked.shards }),
            },
          },
        }),
      ),
    enabled: asked !== null,
    retry: false,
  });
  const look = () => {
    if (begin && end && shards) setAsked({ begin, end, shards });
  };
  const start = async () => {
    if (!asked || !would.data) return;
    const sure = await confirm({
      title: w.past.confirmTitle(would.data.runs),
      body: w.past.confirmBody,
      action: w.past.startAll(would.data.runs),
      danger: true,
    });
    if (!sure) return;
    const body = {
      begin: asked.begin,
      end: asked.end,
      ...(asked.shards.length > 0 && { shards: asked.shards }),
    };
    await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/backfill", { params: { path }, body })));
    setAsked(null);
  };
  const change = (patch: Partial<typeof range>) => {
    setRange({ ...range, ...patch });
    setAsked(null);
  };
  return (
    <form
      className="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        look();
      }}
    >
      <h2>{w.past.backfill}</h2>
      <p className="muted">{w.past.backfillWhy}</p>
      <div className="setting-grid">
        <Field label={c.begin}>
          {(props) => <When {...props} value={range.begin} onChange={(begin) => change({ begin })} />}
        </Field>
        <Field label={c.end}>
          {(props) => <When {...props} value={range.end} onChange={(end) => change({ end })} />}
        </Field>
        <ShardsField
          value={some}
          onChange={(text) => {
            setSome(text);
            setAsked(null);
          }}
          total={total}
        />
      </div>
      <div className="row">
        <Button type="submit" disabled={!begin || !end || !shards}>
          {w.past.look}
        </Button>
        {would.data && asked && (
          <Button kind="primary" onClick={start} why={cannot} disabled={would.data.runs === 0}>
            {w.past.startAll(would.data.runs)}
          </Button>
        )}
      </div>
      {asked && <TroubleNote error={would.error} />}
      {asked && would.data && (
        <div role="status">
          <p>{w.past.would(would.data.fires.length, would.data.runs)}</p>
          <ol className="fires">
            {would.data.fires.slice(0, 100).map((fire) => (
              <li key={fire}>
                <Time at={fire} />
              </li>
            ))}
          </ol>
          {would.data.fires.length > 100 && (
            <p className="muted">{w.past.andMore(would.data.fires.length - 100)}</p>
          )}
        </div>
      )}
    </form>
  );
}

/** How much of what was asked for is still to be done. */
function Left({ name }: { name: string }) {
  const w = useWords(words).past;
  const { name: registry } = useRegistry();
  const found = useQuery({
    queryKey: [registry, "left", name],
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/jobs/{job}/left", { params: { path: { registry, job: name } } })),
    refetchInterval: ({ state }) => (state.data && state.data.waiting + state.data.running > 0 ? 1000 : 5000),
  });
  const [most, setMost] = useState(0);
  const left = found.data ? found.data.waiting + found.data.running : 0;
  if (left > most) setMost(left);
  if (left === 0 && most !== 0) setMost(0);
  return (
    <section className="card stack" aria-label={w.left}>
      <h2>{w.left}</h2>
      <TroubleNote error={found.error} />
      {found.data && left === 0 && <p className="muted">{w.nothingLeft}</p>}
      {found.data && left > 0 && (
        <>
          <progress max={most} value={most - left} aria-label={w.left} />
          <p role="status">
            <strong>{found.data.waiting.toLocaleString("en")}</strong> {w.waiting},{" "}
            <strong>{found.data.running.toLocaleString("en")}</strong> {w.running}
          </p>
        </>
      )}
    </section>
  );
}

interface WhenProps {
  id: string;
  value: string;
  onChange: (text: string) => void;
  disabled?: boolean;
}

function When({ onChange, ...props }: WhenProps) {
  return (
    <input
      {...props}
      className="input"
      type="datetime-local"
      step={1}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

interface ShardsProps {
  value: string;
  onChange: (text: string) => void;
  total: number;
  disabled?: boolean;
}

function ShardsField({ value, onChange, total, disabled = false }: ShardsProps) {
  const w = useWords(words).trigger;
  const fault = ranges(value, total) ? undefined : w.badShards(total);
  return (
    <Field label={w.shards} hint={w.shardsHint} fault={fault}>
      {(props) => (
        <input
          {...props}
          className="input mono"
          autoComplete="off"
          disabled={disabled}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
