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

/** The registry that is looked at: the one in the address, or the first. */
export function useRegistry(): RegistryHere {
  const { registries } = useSession();
  const [place] = useHash();
  const named = decodeRegistry(place);
  return useMemo(() => {
    const found = registries.find((each) => each.name === named) ?? registries[0];
    if (!found) throw new Error("there is no registry here");
    const role = found.role as Role;
    return {
      ...found,
      role,
      may: (wanted) => ROLES.indexOf(role) >= ROLES.indexOf(wanted),
      to: (...parts) => ["", "r", found.name, ...parts].map((each) => part(each)).join("/"),
    };
  }, [registries, named]);
}

function decodeRegistry(place: string): string | undefined {
  const found = /^\/r\/([^/]+)/.exec(place)?.[1];
  return found === undefined ? undefined : unpart(found);
}
