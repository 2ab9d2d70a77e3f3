import type { Fire } from "../../api/types";
import { Duration, Took } from "../../components/Time";

/** How long the last run of a shard took, or has taken so far: not what lay between it and those before it. */
export function FireTook({ fire }: { fire: Fire }) {
  if (fire.disposition !== "RUNNING") return <Duration seconds={fire.took} />;
  return <Took began={fire.attempts.at(-1)?.began ?? null} ended={null} />;
}
