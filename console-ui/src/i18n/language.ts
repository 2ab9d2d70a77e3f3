// Which language is spoken: what was chosen here before, or what the browser asks for.

import { useSyncExternalStore } from "react";
import { recall, remember } from "../lib/memory";
import type { Language, Same, Words } from "./words";

const listeners = new Set<() => void>();
let language: Language = first();

function first(): Language {
  const chosen = recall("language");
  if (chosen === "en" || chosen === "zh") return chosen;
  return typeof navigator !== "undefined" && navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function speak(other: Language): void {
  language = other;
  remember("language", other);
  document.documentElement.lang = locale();
  for (const told of listeners) told();
}

function subscribe(told: () => void): () => void {
  listeners.add(told);
  return () => listeners.delete(told);
}

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, () => language);
}

/** The words of a page in the language that is spoken. */
export function useWords<T>(words: Words<T>): Same<T> {
  return words[useLanguage()];
}

export function locale(of: Language = language): string {
  return of === "zh" ? "zh-CN" : "en";
}
