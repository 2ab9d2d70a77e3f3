// Rows that come page by page as one scrolls.

import { type QueryKey, useQueries } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";

interface Options<Row, Data extends { total: number }> {
  size: number;
  key: (page: number) => QueryKey;
  fetch: (page: number) => Promise<Data>;
  rows: (data: Data) => readonly Row[];
  refetchInterval?: number;
}

export interface Paged<Row, Data> {
  total: number;
  /** The page that came last, for what it says besides its rows. */
  last: Data | undefined;
  at: (index: number) => Row | undefined;
  onRange: (first: number, last: number) => void;
  pending: boolean;
  error: Error | null;
}

export function usePaged<Row, Data extends { total: number }>(options: Options<Row, Data>): Paged<Row, Data> {
  const { size, key, fetch, rows, refetchInterval } = options;
  const [pages, setPages] = useState({ first: 0, last: 0 });
  const onRange = useCallback(
    (first: number, last: number) => {
      const next = { first: Math.floor(first / size), last: Math.floor(last / size) };
      setPages((before) => (before.first === next.first && before.last === next.last ? before : next));
    },
    [size],
  );
  const wanted = Array.from({ length: pages.last - pages.first + 1 }, (_, index) => pages.first + index);
  const found = useQueries({
    queries: wanted.map((page) => ({
      queryKey: key(page),
      queryFn: () => fetch(page),
      staleTime: 10_000,
      ...(refetchInterval !== undefined && { refetchInterval }),
    })),
  });
  // What was last shown stays until what is asked for instead has come: the table neither blinks nor jumps.
  const held = useRef<{ last: Data | undefined; rows: Map<number, readonly Row[]> }>({
    last: undefined,
    rows: new Map(),
  });
  const { current } = held;
  wanted.forEach((page, index) => {
    const data = found[index]?.data;
    if (!data) return;
    current.rows.set(page, rows(data));
    current.last = data;
  });
  return {
    total: current.last?.total ?? 0,
    last: current.last,
    at: (index) => current.rows.get(Math.floor(index / size))?.[index % size],
    onRange,
    pending: current.last === undefined && found.every((each) => each.isPending),
    error: found.find((each) => each.error)?.error ?? null,
  };
}
