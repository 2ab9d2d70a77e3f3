// What a setting is and what has been changed about it: pure, for the form to be made of.

export type Value = string | number | boolean | null | readonly string[] | Readonly<Record<string, string>>;
export type Config = Readonly<Record<string, unknown>>;
/** Settings that were changed, by name. */
export type Draft = Readonly<Record<string, Value>>;

export interface Property {
  type?: string;
  enum?: readonly string[];
  anyOf?: readonly Property[];
  default?: unknown;
  description?: string;
  examples?: readonly string[];
  minimum?: number;
  maximum?: number;
  items?: Property;
  additionalProperties?: Property | boolean;
}

export type Kind = "boolean" | "choice" | "number" | "text" | "pairs" | "list";

export interface Setting {
  name: string;
  kind: Kind;
  /** Whether it may be left unset. */
  optional: boolean;
  choices: readonly string[];
  property: Property;
}

/** What a property of the schema is to the form. */
export function setting(name: string, property: Property): Setting {
  const some = property.anyOf?.find((each) => each.type !== "null") ?? property;
  const optional = property.anyOf?.some((each) => each.type === "null") ?? false;
  return { name, kind: kindOf(some), optional, choices: some.enum ?? [], property: { ...property, ...some } };
}

function kindOf(property: Property): Kind {
  if (property.enum) return "choice";
  if (property.type === "boolean") return "boolean";
  if (property.type === "integer" || property.type === "number") return "number";
  if (property.type === "array") return "list";
  if (property.type === "object") return "pairs";
  return "text";
}

/** The draft with a setting changed, or without it where it is as it was. */
export function edited(draft: Draft, config: Config, name: string, value: Value): Draft {
  const { [name]: _, ...others } = draft;
  return isSame(value, config[name]) ? others : { ...others, [name]: value };
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** What is sent: props one by one, so that a secret which was shown masked is left alone. */
export function changes(draft: Draft, config: Config): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(draft)) {
    if (name !== "props") {
      told[name] = value;
      continue;
    }
    const before = (config.props ?? {}) as Record<string, string>;
    const after = value as Record<string, string>;
    for (const key of Object.keys(before)) if (!(key in after)) told[`props.${key}`] = null;
    for (const [key, text] of Object.entries(after)) if (before[key] !== text) told[`props.${key}`] = text;
  }
  return told;
}

/** Both values with only what differs, where they are texts by key. */
export function differing(before: unknown, after: unknown): [unknown, unknown] {
  if (!isPairs(before) || !isPairs(after)) return [before, after];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const other = keys.filter((key) => before[key] !== after[key]);
  const only = (pairs: Record<string, unknown>) =>
    Object.fromEntries(other.filter((key) => key in pairs).map((key) => [key, pairs[key]]));
  return [only(before), only(after)];
}

function isPairs(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as people read it in a comparison. */
export function shown(value: unknown, unset: string): string {
  if (value === null || value === undefined || value === "") return unset;
  if (typeof value === "string") return value;
  if (typeof value === "object" && !Array.isArray(value)) {
    const pairs = Object.entries(value);
    return pairs.length ? pairs.map(([key, text]) => `${key}=${text}`).join("\n") : unset;
  }
  if (Array.isArray(value)) return value.length ? value.map(String).join("\n") : unset;
  return String(value);
}
