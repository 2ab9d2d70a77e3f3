// What to show of the ledger. It stands in the address, so that it can be sent to somebody.

import { Button } from "../../components/Button";
import { Field } from "../../components/Field";
import { common } from "../../i18n/common";
import { history as words } from "../../i18n/history";
import { useWords } from "../../i18n/language";
import { type Asked, useAsked } from "../../lib/place";
import { moment, typed } from "../../lib/times";
import { JobFilter, ServerFilter } from "./Suggest";

const KEYS = ["job", "server", "shard", "disposition", "outcome", "begin", "end"] as const;
const DISPOSITIONS = ["RAN", "FAILED_OVER", "MADE_GOOD", "SKIPPED", "LOST", "UNKNOWN", "RUNNING"] as const;
const OUTCOMES = ["ok", "failed", "timed out", "superseded"] as const;
const HOUR = 3_600_000;

export type Disposition = (typeof DISPOSITIONS)[number];
export type Outcome = (typeof OUTCOMES)[number];

/** The filters as the API takes them; what makes no sense is left out. */
export function question(asked: Asked) {
  const shard = /^\d{1,9}$/.test(asked.shard ?? "") ? Number(asked.shard) : undefined;
  return {
    job: asked.job || undefined,
    server: asked.server || undefined,
    shard,
    disposition: DISPOSITIONS.find((each) => each === asked.disposition),
    outcome: OUTCOMES.find((each) => each === asked.outcome),
    begin: asked.begin ? moment(asked.begin) || undefined : undefined,
    end: asked.end ? moment(asked.end) || undefined : undefined,
  };
}

export function Filters() {
  const t = useWords(words);
  const w = useWords(common);
  const [asked, ask] = useAsked();
  return (
    <search className="filters" aria-label={t.filters}>
      <JobFilter value={asked.job ?? ""} onChange={(job) => ask({ job })} />
      <ServerFilter value={asked.server ?? ""} onChange={(server) => ask({ server })} />
      <Field label={t.shard}>
        {(props) => (
          <input
            {...props}
            type="number"
            min={0}
            className="input shard"
            value={asked.shard ?? ""}
            onChange={(event) => ask({ shard: event.target.value })}
          />
        )}
      </Field>
      <Choose
        label={t.disposition}
        value={asked.disposition}
        options={DISPOSITIONS.map((each) => [each, w.dispositions[each]])}
        onChange={(disposition) => ask({ disposition })}
      />
      <Choose
        label={t.outcome}
        value={asked.outcome}
        options={OUTCOMES.map((each) => [each, w.outcomes[each]])}
        onChange={(outcome) => ask({ outcome })}
      />
      <Stretch keys={KEYS} />
    </search>
  );
}

interface ChooseProps {
  label: string;
  value: string | undefined;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
}

/** One of some, or any. */
export function Choose({ label, value, options, onChange }: ChooseProps) {
  const t = useWords(words);
  return (
    <Field label={label}>
      {(props) => (
        <select
          {...props}
          className="input"
          value={value ?? ""}
          onChange={(event) => onChange(event.target.value)}
        >
          <option value="">{t.any}</option>
          {options.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** From when to when; and how to clear all filters, which have these keys. */
export function Stretch({ keys }: { keys: readonly string[] }) {
  const t = useWords(words);
  const [asked, ask] = useAsked();
  const any = keys.some((key) => asked[key]);
  const since = (hours: number) => ask({ begin: new Date(Date.now() - hours * HOUR).toISOString(), end: "" });
  const none = Object.fromEntries(keys.map((key) => [key, ""]));
  return (
    <>
      <Moment label={t.from} value={asked.begin} onChange={(begin) => ask({ begin })} />
      <Moment label={t.to} value={asked.end} onChange={(end) => ask({ end })} />
      <div className="row presets">
        <Button kind="quiet" small onClick={() => since(1)}>
          {t.hour}
        </Button>
        <Button kind="quiet" small onClick={() => since(24)}>
          {t.day}
        </Button>
        <Button kind="quiet" small onClick={() => since(24 * 7)}>
          {t.week}
        </Button>
        {any && (
          <Button kind="quiet" small icon="close" onClick={() => ask(none)}>
            {t.clear}
          </Button>
        )}
      </div>
    </>
  );
}

interface MomentProps {
  label: string;
  value: string | undefined;
  onChange: (value: string) => void;
}

/** A moment, typed in the reader's zone and kept in UTC. */
export function Moment({ label, value, onChange }: MomentProps) {
  const at = value ? Date.parse(value) : Number.NaN;
  return (
    <Field label={label}>
      {(props) => (
        <input
          {...props}
          type="datetime-local"
          className="input moment"
          value={Number.isNaN(at) ? "" : typed(at).slice(0, 16)}
          onChange={(event) => onChange(moment(event.target.value))}
        />
      )}
    </Field>
  );
}
