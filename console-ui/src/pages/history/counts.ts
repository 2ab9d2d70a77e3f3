// What was counted, day by day; the days are those of UTC.

import type { Count } from "../../api/types";

export const DAY = 86_400_000;

/** So many days are told at most. */
const MOST = 120;

export interface Day {
  day: string;
  fires: number;
  well: number;
  bad: number;
  other: number;
  late: number;
  latest: number;
  ran: number;
}

export function today(): number {
  return Math.floor(Date.now() / DAY) * DAY;
}

/** One entry for each day of the stretch, also for those without a fire. */
export function byDay(counts: readonly Count[], begin: string, end: string | undefined): Day[] {
  const days = new Map<string, Day>();
  const last = end ? Date.parse(end) - 1 : Math.max(today(), Date.parse(begin));
  const first = Math.max(Math.floor(Date.parse(begin) / DAY) * DAY, last - MOST * DAY);
  for (let at = first; at <= last; at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.set(day, { day, fires: 0, well: 0, bad: 0, other: 0, late: 0, latest: 0, ran: 0 });
  }
  for (const count of counts) {
    const day = days.get(count.day);
    if (!day) continue;
    day.fires += count.fires;
    day[kind(count)] += count.fires;
    day.late += count.late;
    day.latest = Math.max(day.latest, count.latest);
    day.ran += count.ran;
  }
  return [...days.values()];
}

function kind(count: Count): "well" | "bad" | "other" {
  if (count.outcome === "ok") return "well";
  if (count.outcome === "failed" || count.outcome === "timed out" || count.disposition === "LOST")
    return "bad";
  return "other";
}
