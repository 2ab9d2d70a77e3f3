// The jobs that fit what is asked for, fetched page by page as one scrolls.

import { keepPreviousData, useQueries, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { answer, api } from "../../api/client";
import type { Fleet, JobRow } from "../../api/types";
import { keys } from "../../live/live";

export const PAGE = 200;

export interface FleetAsked {
  search: string;
  status: "" | "OK" | "DISABLED" | "CRASHED" | "SHARDING_FLAG";
  outcome: "" | "ok" | "failed" | "timed out" | "superseded";
  sort: "name" | "status" | "next" | "shards" | "late";
  descending: boolean;
}

export interface FleetFound {
  total: number;
  at: (index: number) => JobRow | undefined;
  onRange: (first: number, last: number) => void;
  pending: boolean;
  error: Error | null;
  again: () => void;
  /** The names of all that fit, fetched if need be. */
  names: () => Promise<string[]>;
}

export function useFleet(registry: string, asked: FleetAsked): FleetFound {
  const client = useQueryClient();
  const [pages, setPages] = useState({ first: 0, last: 0 });
  const onRange = useCallback((first: number, last: number) => {
    const next = { first: Math.floor(first / PAGE), last: Math.floor(last / PAGE) };
    setPages((before) => (before.first === next.first && before.last === next.last ? before : next));
  }, []);

  const options = (page: number) => ({
    queryKey: keys.fleet(registry, asked, page),
    queryFn: () => fetchPage(registry, asked, page),
    staleTime: 10_000,
    // How late fires were does not come by the stream.
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });
  const wanted = Array.from({ length: pages.last - pages.first + 1 }, (_, index) => pages.first + index);
  const found = useQueries({ queries: wanted.map(options) });

  const byPage = new Map<number, Fleet>();
  wanted.forEach((page, index) => {
    const data = found[index]?.data;
    if (data) byPage.set(page, data);
  });
  const total = found.find((each) => each.data)?.data?.total ?? 0;

  return {
    total,
    at: (index) => byPage.get(Math.floor(index / PAGE))?.jobs[index % PAGE],
    onRange,
    pending: found.every((each) => each.isPending),
    error: found.find((each) => each.error)?.error ?? null,
    again: () => client.invalidateQueries({ queryKey: [registry, "fleet"] }),
    names: async () => {
      const names: string[] = [];
      for (let page = 0; page * PAGE < total; page++) {
        const { jobs } = await client.fetchQuery({ ...options(page), staleTime: 5000 });
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
