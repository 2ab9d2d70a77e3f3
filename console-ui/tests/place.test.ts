import { expect, test } from "vitest";
import { part, unpart, withAsked } from "../src/lib/place";

test("any name can be a part of an address", () => {
  for (const name of ["a", "a b", "50%", "%2F", "a~b", "a/b", "a?b#c", "<script>", "夜间报表", "ä%C3"]) {
    expect(part(name)).not.toMatch(/[%/?#\s<>]/);
    expect(unpart(part(name))).toBe(name);
  }
});

test("what is asked for stands behind a question mark, where it is anything", () => {
  expect(withAsked("/a", {})).toBe("/a");
  expect(withAsked("/a", { job: "x y", shard: "" })).toBe("/a?job=x+y");
});
