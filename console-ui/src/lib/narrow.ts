import { useSyncExternalStore } from "react";

const NARROW = typeof matchMedia === "function" ? matchMedia("(max-width: 820px)") : null;

/** Whether the page is as narrow as a telephone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (told) => {
      NARROW?.addEventListener("change", told);
      return () => NARROW?.removeEventListener("change", told);
    },
    () => NARROW?.matches ?? false,
  );
}
