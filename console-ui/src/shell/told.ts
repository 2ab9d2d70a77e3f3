// What was done and what went wrong, in the reader's words and zone.

import { Trouble } from "../api/trouble";
import type { Done } from "../api/types";
import type { done } from "../i18n/done";

type Words = (typeof done)["en"];

const PART = /, (at|from|to|shards?|server|instance) /g;
const MOMENT = /\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)/g;

/** What was done, and to whom: the console names it for its audit, in UTC. */
export function toldOf(done: Done, w: Words, moment: (at: string) => string): string {
  const what = (w.did as Record<string, string>)[done.what] ?? done.what;
  const target = done.target
    .replace(PART, (_, name: keyof Words["of"]) => `, ${w.of[name]} `)
    .replace(MOMENT, moment);
  const said = target ? w.told(what, target) : what;
  return done.changed.length === 0 ? w.nothing(said) : said;
}

/** The sentence of something that went wrong. The console speaks English: of what kind it is, the page says. */
export function troubleOf(error: unknown, w: Words): string {
  if (!(error instanceof Trouble)) return error instanceof Error ? error.message : String(error);
  if (error.kind === "lost") return w.lost;
  return w.trouble(w.kinds[error.kind], error.message);
}
