// One clock for all that shows how long ago something was, so that they tick together.

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(told: () => void): () => void {
  listeners.add(told);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(told);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

function current(): number {
  if (!timer) now = Date.now();
  return now;
}

/** The time it is, told once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, current);
}
