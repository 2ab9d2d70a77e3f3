import { expect, test } from "vitest";
import type { Timeline } from "../src/api/types";
import { chart } from "../src/pages/job/timeline/layout";

const NOON = Date.parse("2026-11-17T12:00:00Z");
const iso = (seconds: number) => new Date(NOON + seconds * 1000).toISOString();

function fire(
  due: number,
  runs: [shard: number, began: number, ended: number | null][],
): Timeline["fires"][number] {
  return {
    fire: iso(due),
    due: iso(due),
    left_out: 0,
    shards: runs.map(([shard, began, ended]) => ({
      shard,
      began: iso(began),
      ended: ended === null ? null : iso(ended),
      disposition: ended === null ? "RUNNING" : "RAN",
      outcome: ended === null ? "" : "ok",
      process: "p",
    })),
  };
}

// The latest first, as they are told.
const timeline: Timeline = {
  fires: [
    fire(20, [
      [0, 20, 22],
      [5, 20, null],
    ]),
    fire(10, [[0, 10, 14]]),
  ],
  before: null,
  next: null,
};

test("fires stand from the oldest to the latest, shards in their order", () => {
  const drawn = chart(timeline, "fire", 200, NOON + 21_000);
  expect(drawn.columns.map((column) => column.due)).toEqual([iso(10), iso(20)]);
  expect(drawn.shards).toEqual([0, 5]);
  expect(drawn.bars.map((bar) => [bar.column, bar.row])).toEqual([
    [0, 0],
    [1, 0],
    [1, 1],
  ]);
});

test("by fire, a bar stays within the column of its fire", () => {
  const late: Timeline = {
    fires: [fire(20, [[0, 20, 22]]), fire(10, [[0, 900, 905]]), fire(0, [[0, 0, 2]])],
    before: null,
    next: null,
  };
  const drawn = chart(late, "fire", 300, NOON);
  for (const bar of drawn.bars) {
    expect(bar.x).toBeGreaterThanOrEqual(bar.column * 100);
    expect(bar.x + bar.width).toBeLessThanOrEqual((bar.column + 1) * 100);
  }
  expect(drawn.span).toBe(8000);
});

test("by clock, what began later stands further right", () => {
  const { bars } = chart(timeline, "clock", 500, NOON + 30_000);
  expect(bars[0]?.x).toBeLessThan(bars[1]?.x ?? 0);
});

test("a run that goes on grows with the time", () => {
  const [early, later] = [21_000, 23_000].map(
    (now) => chart(timeline, "clock", 500, NOON + now).bars.find((bar) => bar.shard === 5)?.ended,
  );
  expect([early, later]).toEqual([null, null]);
  const wide = (now: number) => {
    const drawn = chart(timeline, "clock", 500, NOON + now);
    return (drawn.bars.find((bar) => bar.shard === 5)?.width ?? 0) * drawn.span;
  };
  expect(wide(40_000)).toBeGreaterThan(wide(23_000));
});
