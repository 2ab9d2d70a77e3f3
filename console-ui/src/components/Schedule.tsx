import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { useRegistry } from "../shell/registry";

/** A schedule as it is written; in words when one points at it, where they are known. */
export function Schedule({ text, none }: { text: string; none: string }) {
  const { name: registry } = useRegistry();
  const [near, setNear] = useState(false);
  const found = useQuery({
    queryKey: ["schedule", registry, text],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/schedule", {
          params: { path: { registry }, query: { expression: text, count: 1 } },
        }),
      ),
    enabled: near && text !== "",
    staleTime: 600_000,
    retry: false,
  });
  if (!text) return <span className="muted">{none}</span>;
  return (
    <code title={found.data?.words ?? text} onMouseEnter={() => setNear(true)}>
      {text}
    </code>
  );
}
