import { expect, test } from "vitest";
import { Trouble } from "../src/api/trouble";
import { done as words } from "../src/i18n/done";
import { toldOf, troubleOf } from "../src/shell/told";

const here = (at: string) => `<${at.slice(11, 16)}>`;

test("what was done is told in the words of the page, and its times in those of the reader", () => {
  const done = { what: "rerun", target: "sums, at 2026-11-17T02:00:00+00:00, shards 1, 2", changed: ["x"] };
  expect(toldOf(done, words.en, here)).toBe("Asked to run again: sums, at <02:00>, shards 1, 2");
  expect(toldOf(done, words.zh, here)).toBe("已请求重新运行：sums, 触发时间 <02:00>, 分片 1, 2");
});

test("where all was so already that is said", () => {
  const done = { what: "enable", target: "sums, server 10.0.0.1", changed: [] };
  expect(toldOf(done, words.en, here)).toBe("Enabled: sums, server 10.0.0.1. Nothing had to be changed.");
});

test("what the console may learn to do is told by its name", () => {
  expect(toldOf({ what: "polish", target: "", changed: ["x"] }, words.en, here)).toBe("polish");
});

test("trouble is of a kind that the page has a word for, in front of the sentence where that is foreign", () => {
  const trouble = new Trouble("Shard 3 is disabled.", "refused", 409);
  expect(troubleOf(trouble, words.en)).toBe("Shard 3 is disabled.");
  expect(troubleOf(trouble, words.zh)).toBe("已被拒绝：Shard 3 is disabled.");
  expect(troubleOf(new Trouble("x", "lost", 0), words.zh)).toBe(words.zh.lost);
  expect(troubleOf(new TypeError("oops"), words.zh)).toBe("oops");
});
