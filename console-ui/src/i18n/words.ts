// Words of the page in two languages. A dictionary is written once in English; the Chinese one has to have the
// same keys, and functions with the same arguments, or it does not compile.

export type Language = "en" | "zh";

// biome-ignore lint/suspicious/noExplicitAny: a word takes whatever arguments it needs
type Word = string | ((...args: any[]) => string);
export interface Dictionary {
  readonly [key: string]: Word | Dictionary;
}

export type Same<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => string
    ? (...args: A) => string
    : T[K] extends string
      ? string
      : Same<T[K]>;
};

export interface Words<T> {
  readonly en: Same<T>;
  readonly zh: Same<T>;
}

export function words<const T extends Dictionary>(en: T, zh: NoInfer<Same<T>>): Words<T> {
  return { en: en as unknown as Same<T>, zh };
}
