import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../../../api/client";
import { keys } from "../../../live/live";
import { useRegistry } from "../../../shell/registry";

/** The map of a job's shards; the stream keeps it up to date. */
export function useShardMap(name: string, enabled = true) {
  const { name: registry } = useRegistry();
  return useQuery({
    queryKey: keys.map(registry, name),
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/jobs/{job}/map", { params: { path: { registry, job: name } } })),
    enabled,
  });
}
