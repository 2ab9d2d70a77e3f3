import { locale, useLanguage } from "../i18n/language";
import { useNow } from "../lib/clock";
import { length, local, relative, utc } from "../lib/times";

interface Props {
  at: string | null | undefined;
  /** "in 3 min" instead of the time, ticking. */
  relative?: boolean;
  /** What stands there for no time. */
  none?: string;
}

/** A moment in the reader's zone; hovering tells the exact time in UTC. */
export function Time({ at, relative: far = false, none = "–" }: Props) {
  const now = useNow();
  const speech = locale(useLanguage());
  if (!at) return <span className="muted">{none}</span>;
  const then = Date.parse(at);
  if (Number.isNaN(then)) return <span>{at}</span>;
  const here = local(then, now, speech);
  return (
    <time dateTime={at} title={far ? `${here}\n${utc(then)}` : utc(then)}>
      {far ? relative(then, now, speech) : here}
    </time>
  );
}

/** A length of time. */
export function Duration({ seconds, none = "–" }: { seconds: number | null | undefined; none?: string }) {
  if (seconds === null || seconds === undefined) return <span className="muted">{none}</span>;
  return <span title={`${seconds} s`}>{length(seconds)}</span>;
}

/** How long it took, or has taken so far. */
export function Took({ began, ended }: { began: string | null; ended: string | null }) {
  const now = useNow();
  if (!began) return <span className="muted">–</span>;
  const end = ended ? Date.parse(ended) : now;
  return <Duration seconds={Math.max(0, (end - Date.parse(began)) / 1000)} />;
}
