import { expect, test } from "vitest";
import { ranges } from "../src/lib/ranges";
import { changes, differing, edited, setting } from "../src/pages/job/settings/form";

test("shards are named one by one and by ranges", () => {
  expect(ranges("", 10)).toEqual([]);
  expect(ranges("3, 1,1", 10)).toEqual([1, 3]);
  expect(ranges("0-2 9", 10)).toEqual([0, 1, 2, 9]);
  expect(ranges("10", 10)).toBeNull();
  expect(ranges("3-1", 10)).toBeNull();
  expect(ranges("a", 10)).toBeNull();
});

test("a setting that is put back is no change", () => {
  const config = { shards: 4, item_parameters: { "0": "a", "1": "b" } };
  const draft = edited({}, config, "shards", 5);
  expect(draft).toEqual({ shards: 5 });
  expect(edited(draft, config, "shards", 4)).toEqual({});
  expect(edited({}, config, "item_parameters", { "1": "b", "0": "a" })).toEqual({});
});

test("props are sent one by one, so that those shown masked are left alone", () => {
  const config = { props: { "email.password": "***", "http.uri": "x", old: "1" } };
  const draft = { props: { "email.password": "***", "http.uri": "y", fresh: "2" } };
  expect(changes(draft, config)).toEqual({ "props.http.uri": "y", "props.fresh": "2", "props.old": null });
});

test("what the schema says becomes a control", () => {
  expect(setting("failover", { type: "boolean" }).kind).toBe("boolean");
  expect(setting("dst", { anyOf: [{ type: "string", enum: ["quartz"] }, { type: "null" }] })).toMatchObject({
    kind: "choice",
    optional: true,
    choices: ["quartz"],
  });
  expect(setting("shards", { type: "integer", minimum: 1 }).kind).toBe("number");
  expect(setting("props", { type: "object", additionalProperties: { type: "string" } }).kind).toBe("pairs");
  expect(setting("listeners", { type: "array", items: { type: "string" } }).kind).toBe("list");
  expect(setting("timeout", { anyOf: [{ type: "string" }, { type: "null" }] })).toMatchObject({
    kind: "text",
    optional: true,
  });
});

test("of texts by key only those are compared that differ", () => {
  expect(differing({ a: "1", b: "2", c: "3" }, { a: "1", b: "9", d: "4" })).toEqual([
    { b: "2", c: "3" },
    { b: "9", d: "4" },
  ]);
  expect(differing("x", null)).toEqual(["x", null]);
});
