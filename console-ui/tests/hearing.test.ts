import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Fleet, JobsChanged } from "../src/api/types";
import { Hearing, keys, REST } from "../src/live/hearing";

const KEY = keys.fleet("main", { sort: "name" }, 0);
const statistics = { jobs: 1, by_status: {}, servers: 1, instances: 1, shards: 1, running: 0 };
const job = (status: string) => ({
  name: "a",
  status,
  shards: 1,
  schedule: "",
  next_fires: [],
  instances: 1,
  description: "",
  trouble: "",
  last: null,
  java: false,
});
const fleet = (status: string) =>
  ({ jobs: [{ ...job(status), late: [] }], total: 1, by_status: {} }) as Fleet;
const told = (status: string) =>
  ({ changed: [job(status)], gone: [], many: false, statistics }) as unknown as JobsChanged;

/** A page that is looked at; the tests answer its calls one by one, the oldest first. */
class Page<Data> {
  readonly client = new QueryClient();
  readonly hearing = new Hearing(this.client, "main", "a");
  readonly calls: ((data: Data) => void)[] = [];
  readonly leave: () => void;

  constructor(private readonly key: readonly unknown[]) {
    const queryFn = () => new Promise<Data>((answer) => this.calls.push(answer));
    this.leave = new QueryObserver(this.client, { queryKey: key, queryFn }).subscribe(() => {});
  }

  async answer(data: Data): Promise<void> {
    this.calls.shift()?.(data);
    await vi.advanceTimersByTimeAsync(1);
  }

  shown(): Data | undefined {
    return this.client.getQueryData<Data>(this.key);
  }
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("an answer that was read before a change does not hide it for good", async () => {
  const page = new Page<Fleet>(KEY);
  await page.answer(fleet("DISABLED"));
  page.client.invalidateQueries({ queryKey: KEY }); // as after something was done
  page.hearing.jobs(told("OK"));
  expect(page.shown()?.jobs[0]?.status).toBe("OK");
  await page.answer(fleet("DISABLED"));
  await vi.advanceTimersByTimeAsync(REST);
  await page.answer(fleet("OK"));
  expect(page.shown()?.jobs[0]?.status).toBe("OK");
});

test("a change that comes while a page is fetched for the first time is not missed", async () => {
  const page = new Page<Fleet>(KEY);
  page.hearing.jobs(told("OK"));
  await page.answer(fleet("DISABLED"));
  await vi.advanceTimersByTimeAsync(REST);
  await page.answer(fleet("OK"));
  expect(page.shown()?.jobs[0]?.status).toBe("OK");
});

test("a map that was read before a change is fetched once more", async () => {
  const map = (state: string) => ({ state });
  const page = new Page<{ state: string }>(keys.map("main", "a"));
  page.hearing.job({ brief: job("OK"), leader: null, members: [], map: map("R") } as never);
  await page.answer(map("P"));
  await vi.advanceTimersByTimeAsync(REST);
  await page.answer(map("R"));
  expect(page.shown()).toEqual(map("R"));
});

test("answers that take longer than changes are apart come in all the same", async () => {
  const page = new Page<Fleet>(KEY);
  await page.answer(fleet("DISABLED"));
  page.client.invalidateQueries({ queryKey: KEY });
  for (let round = 0; round < 5; round++) {
    page.hearing.jobs(told("OK"));
    await vi.advanceTimersByTimeAsync(REST);
  }
  expect(page.calls.length).toBe(1);
  await page.answer({ ...fleet("OK"), total: 7 });
  expect(page.shown()?.total).toBe(7);
});

test("a page that is to be fetched anew still is when a job on it has changed", async () => {
  const page = new Page<Fleet>(KEY);
  await page.answer(fleet("OK"));
  page.leave();
  page.client.invalidateQueries({ queryKey: KEY });
  page.hearing.jobs(told("DISABLED"));
  expect(page.shown()?.jobs[0]?.status).toBe("DISABLED");
  expect(page.client.getQueryState(KEY)?.isInvalidated).toBe(true);
});
