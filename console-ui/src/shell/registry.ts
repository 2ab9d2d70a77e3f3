// The registry that is looked at, and what one may do there.

import { useMemo } from "react";
import { useSession } from "../api/session";
import { ROLES, type Role, type SeenRegistry } from "../api/types";
import { part, unpart, useHash } from "../lib/place";

export interface RegistryHere extends Omit<SeenRegistry, "role"> {
  role: Role;
  may: (role: Role) => boolean;
  /** The address of something in this registry: `to("jobs", name)`. */
  to: (...parts: string[]) => string;
}

/** The registry that an address names, or the first where it names none. Undefined where it names one that is
 * not there, or not for us: another one in its place would be looked at, and changed, by mistake. */
export function registryAt(place: string, registries: readonly SeenRegistry[]): SeenRegistry | undefined {
  const named = registryNamed(place);
  return named === undefined ? registries[0] : registries.find((each) => each.name === named);
}

/** The name of the registry in an address, if there is one. */
export function registryNamed(place: string): string | undefined {
  const found = /^\/r\/([^/]+)/.exec(place)?.[1];
  return found === undefined ? undefined : unpart(found);
}

/** The registry that is looked at; there is one wherever a page of one is shown. */
export function useRegistry(): RegistryHere {
  const { registries } = useSession();
  const [place] = useHash();
  const found = registryAt(place, registries);
  return useMemo(() => {
    if (!found) throw new Error("there is no registry here");
    const role = found.role as Role;
    return {
      ...found,
      role,
      may: (wanted) => ROLES.indexOf(role) >= ROLES.indexOf(wanted),
      to: (...parts) => ["", "r", found.name, ...parts].map((each) => part(each)).join("/"),
    };
  }, [found]);
}
