import { expect, test } from "vitest";

type Tree = { [key: string]: Tree | string | ((...args: unknown[]) => string) };

const files = import.meta.glob<Record<string, { en: Tree; zh: Tree }>>("../src/i18n/*.ts", { eager: true });
const dictionaries = Object.entries(files)
  .filter(([file]) => !/\/(words|language)\.ts$/.test(file))
  .flatMap(([file, exported]) => Object.values(exported).map((words) => [file, words] as const));

function paths(tree: Tree, before = ""): string[] {
  return Object.entries(tree)
    .flatMap(([key, value]) =>
      typeof value === "object" ? paths(value, `${before}${key}.`) : [`${before}${key}:${typeof value}`],
    )
    .sort();
}

function texts(tree: Tree): string[] {
  return Object.values(tree).flatMap((value) =>
    typeof value === "object"
      ? texts(value)
      : [typeof value === "string" ? value : value(...Array.from({ length: value.length }, () => 1))],
  );
}

test("there are dictionaries", () => {
  expect(dictionaries.length).toBeGreaterThan(5);
});

test.each(dictionaries)("%s has the same words in both languages", (_, words) => {
  expect(paths(words.zh)).toEqual(paths(words.en));
});

test.each(dictionaries)("%s says something in Chinese wherever it says something", (_, words) => {
  expect(texts(words.zh).filter((text) => text === "")).toEqual([]);
  expect(texts(words.zh).filter((text) => /undefined|\[object/.test(text))).toEqual([]);
});
