// Nodes by their paths, and how they are read.

import { queryOptions, useQuery } from "@tanstack/react-query";
import { answer, api } from "../../api/client";
import { useRegistry } from "../../shell/registry";

/** A path as the registry writes it. */
export function normal(path: string): string {
  return `/${path.split("/").filter(Boolean).join("/")}`;
}

export function below(path: string, name: string): string {
  return path === "/" ? `/${name}` : `${path}/${name}`;
}

export function parent(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** All that is above a node, from the root on. */
export function above(path: string): string[] {
  const names = path.split("/").filter(Boolean);
  return ["/", ...names.slice(0, -1).map((_, index) => `/${names.slice(0, index + 1).join("/")}`)].slice(
    0,
    Math.max(1, names.length),
  );
}

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
