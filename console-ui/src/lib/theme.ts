// Light or dark: as the system says, unless chosen here.

import { useSyncExternalStore } from "react";
import { recall, remember } from "./memory";

export type Theme = "system" | "light" | "dark";

const listeners = new Set<() => void>();
let theme: Theme = known(recall("theme"));

function known(text: string | null): Theme {
  return text === "light" || text === "dark" ? text : "system";
}

export function show(other: Theme): void {
  theme = other;
  remember("theme", other);
  apply();
  for (const told of listeners) told();
}

export function apply(): void {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme);
}

const SYSTEM = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;

/** Whether it is dark in fact: for what is painted rather than styled. */
export function useDark(): boolean {
  return useSyncExternalStore(subscribe, () =>
    theme === "system" ? (SYSTEM?.matches ?? false) : theme === "dark",
  );
}

function subscribe(told: () => void): () => void {
  listeners.add(told);
  SYSTEM?.addEventListener("change", told);
  return () => {
    listeners.delete(told);
    SYSTEM?.removeEventListener("change", told);
  };
}
