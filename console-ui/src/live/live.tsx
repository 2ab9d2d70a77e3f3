// The stream of what changes. There is one for the page, of the registry that is looked at and of the job that
// is open; pages need not know of it: what they fetched is patched, or fetched anew.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { HERE } from "../api/client";
import type { Fleet, Hello, JobChanged, JobPage, JobsChanged } from "../api/types";
import { isOutdated, patchFleet, patchJob } from "./patch";

export interface LiveState {
  state: "joining" | "live" | "away";
  /** What is wrong with the registry. */
  trouble: string | null;
}

const Live = createContext<LiveState>({ state: "joining", trouble: null });

export function useLiveState(): LiveState {
  return useContext(Live);
}

/** Keys of what is cached of a registry: pages use these, so that the stream finds them. */
export const keys = {
  statistics: (registry: string) => [registry, "statistics"] as const,
  fleet: (registry: string, asked: object, page: number) => [registry, "fleet", asked, page] as const,
  job: (registry: string, job: string) => [registry, "job", job] as const,
  map: (registry: string, job: string) => [registry, "map", job] as const,
  shards: (registry: string, job: string) => [registry, "shards", job] as const,
  timeline: (registry: string, job: string) => [registry, "timeline", job] as const,
};

const AGAIN = 3000;
const HIDDEN = 60_000;

export function LiveProvider({
  registry,
  job,
  children,
}: {
  registry: string;
  job: string | undefined;
  children: ReactNode;
}) {
  return <Live.Provider value={useLive(registry, job)}>{children}</Live.Provider>;
}

/** Follow a registry, and one of its jobs closely. A page that nobody looks at for a while lets go: browsers
 * allow only few streams to one address. */
export function useLive(registry: string, job: string | undefined): LiveState {
  const client = useQueryClient();
  const [now, setNow] = useState<LiveState>({ state: "joining", trouble: null });
  const shown = useShown();

  useEffect(() => {
    if (!shown) return;
    const hearing = new Hearing(client, registry, job);
    let stream: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const open = () => {
      const asked = job === undefined ? "" : `?job=${encodeURIComponent(job)}`;
      stream = new EventSource(`${HERE}/api/r/${encodeURIComponent(registry)}/live${asked}`);
      stream.addEventListener("hello", (event) => {
        setNow({ state: "live", trouble: null });
        hearing.hello(JSON.parse(event.data));
      });
      stream.addEventListener("jobs", (event) => hearing.jobs(JSON.parse(event.data)));
      stream.addEventListener("job", (event) => hearing.job(JSON.parse(event.data)));
      stream.addEventListener("trouble", (event) => {
        setNow({ state: "away", trouble: (JSON.parse(event.data) as { error: string }).error });
      });
      stream.addEventListener("error", () => {
        setNow((before) => (before.trouble ? before : { state: "joining", trouble: null }));
        if (stream?.readyState !== EventSource.CLOSED) return;
        // Refused rather than cut off: perhaps the session is over, which `about` tells.
        client.invalidateQueries({ queryKey: ["about"] });
        timer = setTimeout(open, AGAIN);
      });
    };
    open();
    return () => {
      clearTimeout(timer);
      stream?.close();
      hearing.close();
    };
  }, [client, registry, job, shown]);

  return now;
}

/** Takes in what one stream says. What has to be fetched anew is, but not more often than every other second. */
class Hearing {
  private readonly due = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(
    private readonly client: QueryClient,
    private readonly registry: string,
    private readonly open: string | undefined,
  ) {}

  hello(event: Hello): void {
    this.client.setQueryData(keys.statistics(this.registry), event.statistics);
    // What is being fetched may have been read before the stream began: it comes in, and is fetched once more.
    const cache = this.client.getQueryCache();
    const busy = cache.findAll({ queryKey: [this.registry], fetchStatus: "fetching" });
    this.client.invalidateQueries({ queryKey: [this.registry] }, { cancelRefetch: false });
    for (const query of busy) this.later(query.queryKey.slice(1));
  }

  jobs(event: JobsChanged): void {
    this.client.setQueryData(keys.statistics(this.registry), event.statistics);
    let outdated = event.many;
    for (const query of this.client.getQueryCache().findAll({ queryKey: [this.registry, "fleet"] })) {
      const page = query.state.data as Fleet | undefined;
      if (!page) continue;
      outdated ||= isOutdated(page, event, query.queryKey[2] as object);
      const patched = patchFleet(page, event);
      if (patched !== page) this.client.setQueryData(query.queryKey, patched);
    }
    if (outdated) this.later(["fleet"]);
    this.later(["servers"]);
  }

  job(event: JobChanged): void {
    const { name } = event.brief;
    if (name !== this.open) return;
    this.client.setQueryData<JobPage>(keys.job(this.registry, name), (page) => page && patchJob(page, event));
    this.client.setQueryData(keys.map(this.registry, name), event.map);
    this.later(["job", name]);
    this.later(["shards", name]);
    this.later(["timeline", name]);
    this.later(["left", name]);
  }

  close(): void {
    for (const timer of this.due.values()) clearTimeout(timer);
  }

  private later(key: readonly unknown[]): void {
    const name = JSON.stringify(key);
    if (this.due.has(name)) return;
    const fetchAnew = () => {
      this.due.delete(name);
      this.client.invalidateQueries({ queryKey: [this.registry, ...key] });
    };
    this.due.set(name, setTimeout(fetchAnew, 1500));
  }
}

/** Whether anybody looks at the page, or did until a moment ago. */
function useShown(): boolean {
  const [shown, setShown] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (document.visibilityState === "visible") setShown(true);
      else timer = setTimeout(() => setShown(false), HIDDEN);
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return shown;
}
