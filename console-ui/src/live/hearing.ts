// What the stream says, taken into what was fetched.

import type { Query, QueryClient } from "@tanstack/react-query";
import type { Fleet, Hello, JobChanged, JobPage, JobsChanged } from "../api/types";
import { isOutdated, patchFleet, patchJob } from "./patch";

/** Keys of what is cached of a registry: pages use these, so that the stream finds them. */
export const keys = {
  statistics: (registry: string) => [registry, "statistics"] as const,
  fleet: (registry: string, asked: object, page: number) => [registry, "fleet", asked, page] as const,
  job: (registry: string, job: string) => [registry, "job", job] as const,
  map: (registry: string, job: string) => [registry, "map", job] as const,
  shards: (registry: string, job: string) => [registry, "shards", job] as const,
  timeline: (registry: string, job: string) => [registry, "timeline", job] as const,
};

/** How long what has to be fetched anew waits for more of its kind, in milliseconds. */
export const REST = 1500;

/** Takes in what one stream says. What has to be fetched anew is, but not more often than every other second.
 * What is being fetched may have been read before the stream said what it says: it comes in, and is fetched
 * once more. */
export class Hearing {
  private readonly due = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(
    private readonly client: QueryClient,
    private readonly registry: string,
    private readonly open: string | undefined,
  ) {}

  hello(event: Hello): void {
    this.client.setQueryData(keys.statistics(this.registry), event.statistics);
    this.anew([]);
  }

  jobs(event: JobsChanged): void {
    this.put(["statistics"], event.statistics);
    let outdated = event.many;
    for (const query of this.cached(["fleet"])) {
      const page = query.state.data as Fleet | undefined;
      outdated ||= isUnderWay(query);
      if (!page) continue;
      outdated ||= isOutdated(page, event, query.queryKey[2] as object);
      const patched = patchFleet(page, event);
      if (patched !== page) this.patch(query, patched);
    }
    if (outdated) this.later(["fleet"]);
    this.later(["servers"]);
  }

  job(event: JobChanged): void {
    const { name } = event.brief;
    if (name !== this.open) return;
    this.client.setQueryData<JobPage>(keys.job(this.registry, name), (page) => page && patchJob(page, event));
    this.put(["map", name], event.map);
    this.later(["job", name]);
    this.later(["shards", name]);
    this.later(["timeline", name]);
    this.later(["left", name]);
  }

  close(): void {
    for (const timer of this.due.values()) clearTimeout(timer);
  }

  private cached(key: readonly unknown[]): Query[] {
    return this.client.getQueryCache().findAll({ queryKey: [this.registry, ...key] });
  }

  /** All of it is known, and takes the place of what was fetched. */
  private put(key: readonly unknown[], data: unknown): void {
    if (this.cached(key).some(isUnderWay)) this.later(key);
    this.client.setQueryData([this.registry, ...key], data);
  }

  /** Some of it is known: the rest is as old as it was, and what was to be fetched anew still is. */
  private patch(query: Query, data: unknown): void {
    const { dataUpdatedAt, isInvalidated } = query.state;
    this.client.setQueryData(query.queryKey, data, { updatedAt: dataUpdatedAt });
    if (isInvalidated) query.invalidate();
  }

  private later(key: readonly unknown[]): void {
    const name = JSON.stringify(key);
    if (this.due.has(name)) return;
    const fetchAnew = () => {
      this.due.delete(name);
      this.anew(key);
    };
    this.due.set(name, setTimeout(fetchAnew, REST));
  }

  private anew(key: readonly unknown[]): void {
    const busy = this.cached(key).filter(isUnderWay);
    // Not broken off: where answers take long, none would ever come.
    this.client.invalidateQueries({ queryKey: [this.registry, ...key] }, { cancelRefetch: false });
    for (const query of busy) this.later(query.queryKey.slice(1));
  }
}

function isUnderWay(query: Query): boolean {
  return query.state.fetchStatus === "fetching";
}
