// The jobs that fit what is asked for, fetched page by page as one scrolls.

import { useQueryClient } from "@tanstack/react-query";
import { answer, api } from "../../api/client";
import type { Fleet, JobRow } from "../../api/types";
import { type Paged, usePaged } from "../../lib/paged";
import { keys } from "../../live/live";

export const PAGE = 200;

export interface FleetAsked {
  search: string;
  status: "" | "OK" | "DISABLED" | "CRASHED" | "SHARDING_FLAG";
  outcome: "" | "ok" | "failed" | "timed out" | "superseded";
  sort: "name" | "status" | "next" | "shards" | "late";
  descending: boolean;
}

export interface FleetFound extends Paged<JobRow, Fleet> {
  again: () => void;
  /** The names of all that fit, fetched if need be. */
  names: () => Promise<string[]>;
}

export function useFleet(registry: string, asked: FleetAsked): FleetFound {
  const client = useQueryClient();
  const found = usePaged<JobRow, Fleet>({
    size: PAGE,
    key: (page) => keys.fleet(registry, asked, page),
    fetch: (page) => fetchPage(registry, asked, page),
    rows: (fleet) => fleet.jobs,
    // How late fires were does not come by the stream.
    refetchInterval: 30_000,
  });
  return {
    ...found,
    again: () => client.invalidateQueries({ queryKey: [registry, "fleet"] }),
    names: async () => {
      const names: string[] = [];
      for (let page = 0; page * PAGE < found.total; page++) {
        const { jobs } = await client.fetchQuery({
          queryKey: keys.fleet(registry, asked, page),
          queryFn: () => fetchPage(registry, asked, page),
          staleTime: 10_000,
        });
        names.push(...jobs.map((job) => job.name));
      }
      return names;
    },
  };
}

function fetchPage(registry: string, asked: FleetAsked, page: number): Promise<Fleet> {
  const { search, status, outcome, sort, descending } = asked;
  return answer(
    api.GET("/api/r/{registry}/jobs", {
      params: {
        path: { registry },
        query: {
          offset: page * PAGE,
          limit: PAGE,
          sort,
          descending,
          ...(search && { search }),
          ...(status && { status }),
          ...(outcome && { outcome }),
        },
      },
    }),
  );
}
