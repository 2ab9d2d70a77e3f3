import { expect, test } from "vitest";
import { length, local, moment, relative, typed, utc } from "../src/lib/times";

const NOW = Date.parse("2026-11-17T12:00:00Z");
const at = (seconds: number) => relative(NOW + seconds * 1000, NOW, "en");

test("a moment is told in the largest unit that suits", () => {
  expect(at(5)).toBe("in 5s");
  expect(at(-59)).toBe("59s ago");
  expect(at(90)).toBe("in 2m");
  expect(at(3600 * 5)).toBe("in 5h");
  expect(at(-86_400 * 3)).toBe("3d ago");
  expect(at(86_400 * 100)).toMatch(/3\s?mo/);
});

test("a unit is never more than the next one holds", () => {
  expect(at(59.6)).toBe("in 1m");
  expect(at(3599)).toBe("in 1h");
  expect(at(86_399)).toBe("tomorrow");
});

test("it speaks Chinese too", () => {
  expect(relative(NOW + 5000, NOW, "zh-CN")).toContain("5");
  expect(relative(NOW + 5000, NOW, "zh-CN")).not.toContain("in");
});

test("lengths have at most two units", () => {
  expect(length(0)).toBe("0 s");
  expect(length(0.35)).toBe("350 ms");
  expect(length(0.9999)).toBe("1.0 s");
  expect(length(4.23)).toBe("4.2 s");
  expect(length(42)).toBe("42 s");
  expect(length(200)).toBe("3 min 20 s");
  expect(length(3600)).toBe("1 h");
  expect(length(7500)).toBe("2 h 5 min");
  expect(length(86_400 * 3 + 3600 * 4)).toBe("3 d 4 h");
  expect(length(-2)).toBe("−2.0 s");
});

test("the exact time is told in UTC", () => {
  expect(utc(NOW)).toBe("2026-11-17 12:00:00 UTC");
  expect(utc(NOW + 120)).toBe("2026-11-17 12:00:00.120 UTC");
  expect(utc(Number.NaN)).toBe("");
});

test("the day is told when it is another one", () => {
  expect(local(NOW, NOW, "en")).toMatch(/^\d\d:00:00$/);
  expect(local(NOW - 5 * 86_400_000, NOW, "en")).toMatch(/Nov 12/);
  expect(local(NOW - 500 * 86_400_000, NOW, "en")).toMatch(/2025/);
});

test("what is typed comes back as the same moment", () => {
  expect(moment(typed(NOW))).toBe(new Date(NOW).toISOString());
  expect(moment("")).toBe("");
  expect(moment("nonsense")).toBe("");
});
