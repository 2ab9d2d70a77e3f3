// States by colour, shape and word: who does not see one of them sees the others.

import type { ReactNode } from "react";
import { common } from "../i18n/common";
import { useWords } from "../i18n/language";

export type Tone = "ok" | "warn" | "bad" | "off" | "run" | "odd";

const SHAPES: Record<Tone, string> = {
  ok: "M5 1a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
  warn: "M5 .8L9.6 9H.4z",
  bad: "M1 1h8v8H1z",
  off: "M5 1.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6zm0 1.6a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4z",
  run: "M1.6.6v8.8L9.2 5z",
  odd: "M5 .2L9.8 5 5 9.8.2 5z",
};

export function Shape({ tone }: { tone: Tone }) {
  return (
    <svg viewBox="0 0 10 10" fill="currentColor" aria-hidden="true">
      <path d={SHAPES[tone]} />
    </svg>
  );
}

export function Badge({ tone, title, children }: { tone: Tone; title?: string; children: ReactNode }) {
  return (
    <span className={`badge ${tone}`} title={title}>
      <Shape tone={tone} />
      {children}
    </span>
  );
}

type Status = keyof typeof common.en.statuses;
type State = keyof typeof common.en.states;

export const STATUS_TONES: Record<Status, Tone> = {
  OK: "ok",
  DISABLED: "off",
  CRASHED: "bad",
  SHARDING_FLAG: "warn",
};

const STATE_TONES: Record<State, Tone> = {
  PENDING: "ok",
  RUNNING: "run",
  DISABLED: "off",
  SHARDING_FLAG: "warn",
};

/** How a job is. */
export function StatusBadge({ status }: { status: Status }) {
  const w = useWords(common);
  return <Badge tone={STATUS_TONES[status]}>{w.statuses[status]}</Badge>;
}

/** How a shard is. */
export function StateBadge({ state }: { state: State }) {
  const w = useWords(common);
  return <Badge tone={STATE_TONES[state]}>{w.states[state]}</Badge>;
}

export function outcomeTone(disposition: string, outcome: string): Tone {
  if (disposition === "RUNNING") return "run";
  if (outcome === "failed" || outcome === "timed out" || disposition === "LOST") return "bad";
  if (disposition === "SKIPPED" || disposition === "UNKNOWN" || outcome === "superseded") return "off";
  if (disposition === "FAILED_OVER" || disposition === "MADE_GOOD") return "odd";
  return "ok";
}

/** What became of a fire. */
export function OutcomeBadge({ disposition, outcome }: { disposition: string; outcome: string }) {
  const w = useWords(common);
  return <Badge tone={outcomeTone(disposition, outcome)}>{outcomeText(w, disposition, outcome)}</Badge>;
}

/** The same in words: "failed over, failed". An ordinary run that went well is just ok. */
export function outcomeText(
  w: { readonly dispositions: object; readonly outcomes: object },
  disposition: string,
  outcome: string,
): string {
  const how = (w.dispositions as Record<string, string>)[disposition] ?? disposition;
  const end = (w.outcomes as Record<string, string>)[outcome] ?? outcome;
  if (!end) return how;
  return disposition === "RAN" ? end : `${how}, ${end}`;
}
