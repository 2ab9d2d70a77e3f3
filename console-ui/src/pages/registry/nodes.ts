// How nodes are read.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { answer, api } from "../../api/client";
import { useRegistry } from "../../shell/registry";

export function nodeQuery(registry: string, path: string) {
  return queryOptions({
    queryKey: [registry, "tree", path],
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/tree", { params: { path: { registry }, query: { path } } })),
    staleTime: 5000,
    retry: false,
  });
}

/** Where the registry's jobs are; nothing until it is known. */
export function useNamespace(): string | undefined {
  const { name: registry } = useRegistry();
  const found = useQuery({
    queryKey: [registry, "tree"],
    queryFn: () => answer(api.GET("/api/r/{registry}/tree", { params: { path: { registry } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return found.data?.path;
}
