import { expect, test } from "vitest";
import type { Fleet, JobRow, LiveRow, Statistics } from "../src/api/types";
import { FIRES, isOutdated, patchFleet, patchJob } from "../src/live/patch";

function live(name: string, more: Partial<LiveRow> = {}): LiveRow {
  return {
    name,
    status: "OK",
    shards: 4,
    schedule: "",
    next_fires: [],
    instances: 1,
    description: "",
    trouble: "",
    last: null,
    java: false,
    ...more,
  };
}
const row = (name: string, more: Partial<JobRow> = {}): JobRow => ({
  ...live(name),
  late: [0.1, 0.2],
  ...more,
});
const page = (...jobs: JobRow[]): Fleet => ({ jobs, total: jobs.length, by_status: {} });
const statistics = (jobs: number): Statistics => ({
  jobs,
  by_status: {},
  servers: 1,
  instances: 1,
  shards: 1,
  running: 0,
});

test("a job that changed is shown as it is now, and how late it was stays", () => {
  const patched = patchFleet(page(row("a"), row("b")), {
    changed: [live("b", { status: "CRASHED" })],
    gone: [],
  });
  expect(patched.jobs.map((job) => job.status)).toEqual(["OK", "CRASHED"]);
  expect(patched.jobs[1]?.late).toEqual([0.1, 0.2]);
});

const last = (fire: string, late: number | null): NonNullable<LiveRow["last"]> => ({
  fire,
  due: `2030-01-01T00:0${fire}:00Z`,
  disposition: "RAN",
  outcome: "ok",
  ended: null,
  late,
});

test("the line of lateness grows with each fire, and no longer than it is", () => {
  const grown = (before: JobRow, now: LiveRow["last"]) =>
    patchFleet(page(before), { changed: [live("a", { last: now })], gone: [] }).jobs[0]?.late;
  const before = row("a", { last: last("2", 0.2) });
  expect(grown(before, last("3", 0.3))).toEqual([0.1, 0.2, 0.3]);
  expect(grown(before, last("2", 0.7))).toEqual([0.1, 0.7]);
  expect(grown(row("a", { late: [] }), last("1", null))).toEqual([null]);
  const full = row("a", { last: last("2", 0), late: Array(FIRES).fill(0) });
  expect(grown(full, last("3", 0.3))).toEqual([...Array(FIRES - 1).fill(0), 0.3]);
});

test("what is told after a page was fetched, of a fire before its last, is no news", () => {
  const before = row("a", { last: last("3", 0.2) });
  const told = (now: LiveRow["last"]) =>
    patchFleet(page(before), { changed: [live("a", { status: "CRASHED", last: now })], gone: [] }).jobs[0];
  for (const now of [last("2", 0.1), null]) {
    expect(told(now)).toEqual({ ...before, status: "CRASHED" });
  }
});

test("a page that is sorted by lateness is fetched anew when that changes", () => {
  const here = page(row("a", { last: last("2", 0.2) }));
  const event = (late: number) => ({
    changed: [live("a", { last: last("3", late) })],
    gone: [],
    many: false,
    statistics: statistics(1),
  });
  expect(isOutdated(here, event(0.3), { sort: "late" })).toBe(true);
  expect(isOutdated(here, event(0.2), { sort: "late" })).toBe(false);
  expect(isOutdated(here, event(0.3), {})).toBe(false);
});

test("a page that none of the changed jobs is on stays the same object", () => {
  const before = page(row("a"));
  expect(patchFleet(before, { changed: [live("z")], gone: ["y"] })).toBe(before);
});

test("a job that is gone leaves the page", () => {
  const patched = patchFleet(page(row("a"), row("b")), { changed: [], gone: ["a"] });
  expect(patched.jobs.map((job) => job.name)).toEqual(["b"]);
  expect(patched.total).toBe(1);
});

test("a page is fetched anew when jobs came or went, or too many changed", () => {
  const event = { changed: [], gone: [], many: false, statistics: statistics(1) };
  expect(isOutdated(page(row("a")), event, {})).toBe(false);
  expect(isOutdated(page(row("a")), { ...event, many: true }, {})).toBe(true);
  expect(isOutdated(page(row("a")), { ...event, gone: ["x"] }, {})).toBe(true);
  expect(isOutdated(page(row("a")), { ...event, statistics: statistics(2) }, {})).toBe(true);
});

test("a page is fetched anew when a job changed by which it is filtered or sorted", () => {
  const event = {
    changed: [live("a", { status: "CRASHED" })],
    gone: [],
    many: false,
    statistics: statistics(1),
  };
  expect(isOutdated(page(row("a")), event, { sort: "name" })).toBe(false);
  expect(isOutdated(page(row("a")), event, { sort: "status" })).toBe(true);
  expect(isOutdated(page(row("a")), event, { status: "OK" })).toBe(true);
  expect(isOutdated(page(), event, { status: "CRASHED" })).toBe(true);
});

test("a page is fetched anew when a job comes that fits what is looked for, and not for others", () => {
  const event = {
    changed: [live("Guest two", { description: "Tidies up", last: last("3", 0.1) })],
    gone: [],
    many: false,
    statistics: statistics(2),
  };
  for (const asked of [{ search: "guest" }, { search: "TWO  tidies " }, { outcome: "ok" }]) {
    expect(isOutdated(page(), event, asked)).toBe(true);
  }
  for (const asked of [{ search: "three" }, { outcome: "failed" }, { search: "guest", status: "CRASHED" }]) {
    expect(isOutdated(page(), event, asked)).toBe(false);
  }
  expect(isOutdated(page(row("Guest two")), event, { search: "guest" })).toBe(false);
});

test("a job's page takes in who is there and what runs", () => {
  const before = {
    brief: live("a"),
    kind: "",
    config: { shards: 2 },
    version: 3,
    leader: null,
    members: [],
    servers: [],
    draining: [],
    running: 0,
    trouble: "",
  };
  const member = {
    id: "x",
    server: "s",
    python: true,
    alive: true,
    draining: true,
    leader: true,
    enabled: true,
    owns: 2,
    runs: 1,
  };
  const map = {
    total: 2,
    members: ["x"],
    here: 1,
    owner: [0, 0],
    running: [0, -1],
    state: "RP",
    failover: [],
    moving: {},
  };
  const after = patchJob(before, { brief: live("a"), leader: "x", members: [member], map });
  expect(after).toMatchObject({
    leader: "x",
    running: 1,
    draining: ["x"],
    version: 3,
    config: { shards: 2 },
  });
});
