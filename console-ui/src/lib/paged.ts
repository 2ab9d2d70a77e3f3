// Rows that come page by page as one scrolls.

import { keepPreviousData, type QueryKey, useQueries } from "@tanstack/react-query";
import { useCallback, useState } from "react";

interface Options<Row, Data extends { total: number }> {
  size: number;
  key: (page: number) => QueryKey;
  fetch: (page: number) => Promise<Data>;
  rows: (data: Data) => readonly Row[];
  refetchInterval?: number;
}

export interface Paged<Row> {
  total: number;
  at: (index: number) => Row | undefined;
  onRange: (first: number, last: number) => void;
  pending: boolean;
  error: Error | null;
}

export function usePaged<Row, Data extends { total: number }>(options: Options<Row, Data>): Paged<Row> {
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
      placeholderData: keepPreviousData,
      ...(refetchInterval !== undefined && { refetchInterval }),
    })),
  });
  const byPage = new Map<number, readonly Row[]>();
  wanted.forEach((page, index) => {
    const data = found[index]?.data;
    if (data) byPage.set(page, rows(data));
  });
  return {
    total: found.find((each) => each.data)?.data?.total ?? 0,
    at: (index) => byPage.get(Math.floor(index / size))?.[index % size],
    onRange,
    pending: found.every((each) => each.isPending),
    error: found.find((each) => each.error)?.error ?? null,
  };
}
