// Where the bar of each run is. By fire, every fire has a column of the same width, in which runs stand as they
// lay after its due time; by clock, all of them share one scale.

import type { Timeline } from "../../../api/types";

export interface Bar {
  fire: string;
  due: string;
  shard: number;
  disposition: string;
  outcome: string;
  process: string;
  began: string | null;
  ended: string | null;
  x: number;
  width: number;
  row: number;
  column: number;
}

export interface Chart {
  bars: Bar[];
  shards: number[];
  /** The oldest first, as they stand from the left. */
  columns: { fire: string; due: string; x: number; width: number; leftOut: number }[];
  /** How many milliseconds a column stands for, or all of them by clock. */
  span: number;
}

const LEAST = 4;

export function chart(timeline: Timeline, mode: "fire" | "clock", width: number, now: number): Chart {
  const fires = timeline.fires.toReversed();
  const shards = [...new Set(fires.flatMap((fire) => fire.shards.map((run) => run.shard)))].sort(
    (a, b) => a - b,
  );
  const rows = new Map(shards.map((shard, row) => [shard, row]));
  const dues = fires.map((fire) => Date.parse(fire.due));
  const ends = fires.map((fire, index) =>
    Math.max(dues[index] ?? 0, ...fire.shards.map((run) => end(run, now, dues[index] ?? 0))),
  );
  const first = Math.min(...dues);
  const span =
    mode === "fire"
      ? usual(ends.map((last, index) => last - (dues[index] ?? 0)))
      : Math.max(1000, Math.max(...ends) - first);
  const step = width / Math.max(1, fires.length);
  const inside = step - 8;
  const columns = fires.map((fire, index) => ({
    fire: fire.fire,
    due: fire.due,
    leftOut: fire.left_out,
    x: mode === "fire" ? index * step : (((dues[index] ?? 0) - first) / span) * (width - LEAST),
    width: mode === "fire" ? step : 0,
  }));
  const bars = fires.flatMap((fire, index) =>
    fire.shards.map((run): Bar => {
      const due = dues[index] ?? 0;
      const began = run.began ? Date.parse(run.began) : due;
      const last = end(run, now, due);
      const from = mode === "fire" ? Math.max(0, began - due) : began - first;
      const scale = (mode === "fire" ? inside : width - LEAST) / span;
      const origin = mode === "fire" ? index * step + 4 : 0;
      const room = mode === "fire" ? inside : width;
      const x = Math.min(from * scale, room - LEAST);
      return {
        fire: fire.fire,
        due: fire.due,
        ...run,
        x: origin + x,
        width: Math.min(Math.max(LEAST, (last - began) * scale), room - x),
        row: rows.get(run.shard) ?? 0,
        column: index,
      };
    }),
  );
  return { bars, shards, columns, span };
}

/** A span that shows most fires well: one that was run long after it was due is cut off rather than let the
 * others shrink to nothing. */
function usual(spans: readonly number[]): number {
  const sorted = spans.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return Math.max(1000, Math.min(sorted.at(-1) ?? 0, middle * 4));
}

function end(
  run: { began: string | null; ended: string | null; disposition: string },
  now: number,
  due: number,
) {
  if (run.ended) return Date.parse(run.ended);
  if (run.disposition === "RUNNING") return now;
  return run.began ? Date.parse(run.began) : due;
}
