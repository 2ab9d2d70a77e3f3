import { describe, expect, it } from "vitest";
import { size } from "../src/pages/doctor/size";
import { byDay } from "../src/pages/history/counts";
import { askedRun, wasAsked, writeRun } from "../src/pages/history/run";
import { above, below, normal, parent } from "../src/pages/registry/paths";
import { rowsOf } from "../src/pages/registry/rows";

const count = {
  job: "a",
  day: "2026-11-02",
  disposition: "RAN" as const,
  outcome: "ok",
  fires: 3,
  late: 1.5,
  latest: 1,
  ran: 9,
};

describe("days", () => {
  it("has an entry for every day of the stretch, also for those without a fire", () => {
    const days = byDay([count], "2026-11-01T10:00:00Z", "2026-11-04T00:00:00Z");
    expect(days.map((each) => [each.day, each.fires])).toEqual([
      ["2026-11-01", 0],
      ["2026-11-02", 3],
      ["2026-11-03", 0],
    ]);
  });

  it("counts what came out well, what did not, and the rest apart", () => {
    const counts = [
      count,
      { ...count, outcome: "failed", fires: 2, latest: 7 },
      { ...count, disposition: "LOST" as const, outcome: "", fires: 1 },
      { ...count, disposition: "SKIPPED" as const, outcome: "", fires: 4 },
    ];
    const [day] = byDay(counts, "2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z");
    expect(day).toMatchObject({ fires: 10, well: 3, bad: 3, other: 4, latest: 7 });
  });
});

describe("a run in the address", () => {
  const run = { job: 'a "b"', made: 7, fire: "#3", shard: 2 };

  it("comes back as it was written", () => {
    expect(askedRun({ run: writeRun(run) })).toEqual(run);
  });

  it("is also known by job, fire and shard, as other pages lead to it", () => {
    expect(askedRun({ job: "a", fire: "#3", shard: "2" })).toEqual({
      job: "a",
      fire: "#3",
      shard: 2,
      made: null,
    });
  });

  it.each(["", "nonsense", "[1,2,3,4]", '["a",1.5,"b",0]', "{}"])(
    "is none where nobody wrote one: %s",
    (text) => {
      expect(askedRun({ run: text })).toBeNull();
    },
  );

  it("was asked for if it has a number instead of a time", () => {
    expect([wasAsked("#3"), wasAsked("2026-11-02T00:00:00+00:00")]).toEqual([true, false]);
  });
});

describe("nodes", () => {
  it("go by paths", () => {
    expect(normal("a//b/")).toBe("/a/b");
    expect(normal("/")).toBe("/");
    expect(above("/a/b/c")).toEqual(["/", "/a", "/a/b"]);
    expect(above("/")).toEqual(["/"]);
    expect([below("/", "a"), below("/a", "b")]).toEqual(["/a", "/a/b"]);
    expect([parent("/a/b"), parent("/a")]).toEqual(["/a", "/"]);
  });

  const node = (path: string, children: string[], total = children.length) => ({
    path,
    children,
    total,
    data: "",
    cut: false,
    version: 0,
    made: 0,
    written: 0,
    ephemeral: false,
    owner: "",
  });

  it("are rows where they are open, each with its place, and leaves cannot be opened", () => {
    const read = new Map([
      ["/", node("/", ["a", "b"])],
      ["/a", node("/a", [])],
    ]);
    const rows = rowsOf(new Set(["/", "/a"]), read);
    expect(rows.map(({ path, level, place, of, isOpen }) => [path, level, place, of, isOpen])).toEqual([
      ["/", 1, 1, 1, true],
      ["/a", 2, 1, 2, undefined],
      ["/b", 2, 2, 2, false],
    ]);
  });

  it("say how many are left out", () => {
    const rows = rowsOf(new Set(["/"]), new Map([["/", node("/", ["a"], 1001)]]));
    expect(rows.at(-1)?.left).toBe(1000);
  });
});

describe("sizes", () => {
  it.each([
    [812, "812 B"],
    [4200, "4.2 kB"],
    [36_400, "36 kB"],
    [1_300_000, "1.3 MB"],
  ])("%i is %s", (bytes, text) => {
    expect(size(bytes)).toBe(text);
  });
});
