import { expect, test } from "vitest";
import { colour, hit, layout, slots, step } from "../src/pages/job/shards/layout";

test("every shard has a cell within the room there is", () => {
  for (const total of [1, 6, 64, 65, 600, 10_000, 100_000]) {
    for (const room of [300, 350, 800, 1600]) {
      const map = layout(total, room);
      expect(map.columns * map.rows).toBeGreaterThanOrEqual(total);
      expect(map.columns * (map.rows - 1)).toBeLessThan(total);
      expect(map.columns * map.pitch - (map.pitch - map.cell)).toBeLessThanOrEqual(Math.max(room, map.cell));
    }
  }
});

test("ten thousand shards are seen at once on a desk", () => {
  expect(layout(10_000, 810).height).toBeLessThanOrEqual(460);
});

test("no shards are no map, and break nothing", () => {
  expect(hit(layout(0, 800), 0, 3, 3)).toBeUndefined();
});

test("what is pointed at is the shard whose cell is there", () => {
  const map = layout(600, 800);
  for (const item of [0, 1, map.columns - 1, map.columns, 599]) {
    const x = (item % map.columns) * map.pitch + 1;
    const y = Math.floor(item / map.columns) * map.pitch + 1;
    expect(hit(map, 600, x, y)).toBe(item);
  }
  expect(hit(map, 600, map.width + 5, 2)).toBeUndefined();
  expect(hit(map, 600, -1, 2)).toBeUndefined();
});

test("arrows walk over the map and stop at its edges", () => {
  const map = layout(600, 800);
  expect(step(map, 600, 5, "ArrowRight")).toBe(6);
  expect(step(map, 600, 0, "ArrowLeft")).toBe(0);
  expect(step(map, 600, 0, "ArrowDown")).toBe(map.columns);
  expect(step(map, 600, 3, "ArrowUp")).toBe(3);
  expect(step(map, 600, 3, "End")).toBe(599);
  expect(step(map, 600, 599, "PageDown")).toBe(599);
  expect(step(map, 600, 3, "x")).toBeUndefined();
});

test("who stays keeps their colour when others come and go", () => {
  const first = slots(new Map(), ["a", "b", "c"]);
  const then = slots(first, ["a", "c", "d"]);
  expect(then.get("a")).toBe(first.get("a"));
  expect(then.get("c")).toBe(first.get("c"));
  expect(then.get("d")).toBe(first.get("b"));
});

test("twenty-four owners have colours of their own, in light and dark", () => {
  for (const dark of [true, false]) {
    const all = Array.from({ length: 24 }, (_, slot) => colour(slot, dark));
    expect(new Set(all).size).toBe(24);
  }
});
