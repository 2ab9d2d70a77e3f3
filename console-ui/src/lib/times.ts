// Times and lengths as people read them.

/** How far away a moment is, in the largest unit that suits: "in 3 min", "2 h ago". */
export function relative(at: number, now: number, locale: string): string {
  const seconds = (at - now) / 1000;
  const far = Math.abs(seconds);
  const format = new Intl.RelativeTimeFormat(locale, { style: "narrow", numeric: "auto" });
  if (far < 59.5) return format.format(Math.round(seconds), "second");
  if (far < 3570) return format.format(Math.round(seconds / 60), "minute");
  if (far < 84_600) return format.format(Math.round(seconds / 3600), "hour");
  if (far < 86_400 * 45) return format.format(Math.round(seconds / 86_400), "day");
  if (far < 86_400 * 500) return format.format(Math.round(seconds / (86_400 * 30.44)), "month");
  return format.format(Math.round(seconds / (86_400 * 365.25)), "year");
}

/** A length of time: 350 ms, 4.2 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function length(seconds: number): string {
  const sign = seconds < 0 ? "−" : "";
  const far = Math.abs(seconds);
  if (far === 0) return "0 s";
  if (far < 0.9995) return `${sign}${Math.max(1, Math.round(far * 1000))} ms`;
  if (far < 9.95) return `${sign}${far.toFixed(1)} s`;
  if (far < 59.5) return `${sign}${Math.round(far)} s`;
  const whole = Math.round(far);
  if (whole < 3600) return sign + pair(Math.floor(whole / 60), "min", whole % 60, "s");
  const minutes = Math.round(far / 60);
  if (minutes < 1440) return sign + pair(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(far / 3600);
  return sign + pair(Math.floor(hours / 24), "d", hours % 24, "h");
}

function pair(large: number, unit: string, small: number, smaller: string): string {
  return small ? `${large} ${unit} ${small} ${smaller}` : `${large} ${unit}`;
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

function format(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = locale + JSON.stringify(options);
  let found = FORMATS.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat(locale, options);
    FORMATS.set(key, found);
  }
  return found;
}

/** A moment in the reader's zone: the time alone when it is today, with the day otherwise. */
export function local(at: number, now: number, locale: string): string {
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
  const [then, today] = [new Date(at), new Date(now)];
  if (then.toDateString() === today.toDateString()) return format(locale, time).format(then);
  const day = { month: "short", day: "numeric" } as const;
  const year = then.getFullYear() === today.getFullYear() ? {} : ({ year: "numeric" } as const);
  return format(locale, { ...year, ...day, ...time }).format(then);
}

/** The moment to the millisecond, in UTC: 2026-11-17 03:24:05.120 UTC. */
export function utc(at: number): string {
  if (!Number.isFinite(at)) return "";
  return new Date(at)
    .toISOString()
    .replace("T", " ")
    .replace(/\.000Z$/, "Z")
    .replace("Z", " UTC");
}

/** What `<input type="datetime-local">` holds for a moment, in the reader's zone. */
export function typed(at: number): string {
  const shifted = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}

/** The moment that was typed there, as the API takes it; empty when nothing sensible was. */
export function moment(text: string): string {
  const at = text ? new Date(text).getTime() : Number.NaN;
  return Number.isNaN(at) ? "" : new Date(at).toISOString();
}
