// Where one is: the address behind the #, so that the page works from any path. What is asked for (filters and
// the like) stands there too, behind a question mark, and never reaches the server's log.

import { useCallback, useMemo, useSyncExternalStore } from "react";

/** A name as a part of an address. The percent sign is left out of it: routers and browsers each decode it once
 * more, and names may have one. */
export function part(name: string): string {
  return name.replace(
    /[^\w.\-\u0080-\uffff]/g,
    (sign) => `~${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

/** The name again. */
export function unpart(text: string): string {
  return text.replace(/~([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

function path(): string {
  return `/${location.hash.replace(/^#?\/?/, "").split("?")[0]}`;
}

function search(): string {
  const [, ...rest] = location.hash.split("?");
  return rest.join("?");
}

const followers = new Set<() => void>();

/** All are told at once: otherwise what is inside would be shown at the new address before what is around it. */
function tellAll(): void {
  for (const told of [...followers]) told();
}

function subscribe(told: () => void): () => void {
  if (followers.size === 0) addEventListener("hashchange", tellAll);
  followers.add(told);
  return () => {
    followers.delete(told);
    if (followers.size === 0) removeEventListener("hashchange", tellAll);
  };
}

export function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const before = location.href;
  history[replace ? "replaceState" : "pushState"](null, "", `#${to}`);
  dispatchEvent(new HashChangeEvent("hashchange", { oldURL: before, newURL: location.href }));
}

/** The router's hook. */
export function useHash(): [string, typeof go] {
  return [useSyncExternalStore(subscribe, path), go];
}
useHash.hrefs = (to: string) => `#${to}`;

export type Asked = Readonly<Record<string, string>>;

/** What is asked for, and how to ask for something else: a patch, where an empty text takes a key away. */
export function useAsked(): [Asked, (patch: Record<string, string>) => void] {
  const text = useSyncExternalStore(subscribe, search);
  const asked = useMemo(() => Object.fromEntries(new URLSearchParams(text)), [text]);
  const ask = useCallback((patch: Record<string, string>) => {
    const before = Object.fromEntries(new URLSearchParams(search()));
    const there = withAsked(path(), { ...before, ...patch });
    if (there !== withAsked(path(), before)) go(there, { replace: true });
  }, []);
  return [asked, ask];
}

/** An address with something asked for there. */
export function withAsked(to: string, asked: Record<string, string>): string {
  const text = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== "")).toString();
  return text ? `${to}?${text}` : to;
}
