// Rows that go on, page after page, as one scrolls: each page says where the next begins.

import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

/** So many lines are asked for at a time, and the next so many before the end of those that are there. */
export const PAGE = 100;
const AHEAD = 40;

interface Options<Row, Page extends { after: string | null }> {
  key: QueryKey;
  fetch: (after: string | undefined) => Promise<Page>;
  rows: (page: Page) => readonly Row[];
}

export function useEndless<Row, Page extends { after: string | null }>(options: Options<Row, Page>) {
  const { key, fetch, rows: rowsOf } = options;
  const found = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => fetch(pageParam ?? undefined),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.after,
    // Whoever has read on is left in peace.
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) > 1 ? false : 5000),
  });
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = found;
  // biome-ignore lint/correctness/useExhaustiveDependencies: which rows a page has depends on the page only
  const rows = useMemo(() => data?.pages.flatMap((page) => rowsOf(page)) ?? [], [data]);
  const onRange = useCallback(
    (_: number, last: number) => {
      if (hasNextPage && !isFetchingNextPage && last > rows.length - AHEAD) fetchNextPage();
    },
    [hasNextPage, isFetchingNextPage, fetchNextPage, rows.length],
  );
  return { found, rows, onRange };
}
