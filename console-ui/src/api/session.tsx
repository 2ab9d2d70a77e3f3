// Who is here, and what they may do where.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useEffect } from "react";
import { answer, api, onSignedOut, present } from "./client";
import type { About, Session } from "./types";

const ABOUT = ["about"];
const LATER = 15_000;

/** What the console says of itself, and whether we have a session. */
export function useAbout() {
  const client = useQueryClient();
  const about = useQuery({
    queryKey: ABOUT,
    queryFn: () => answer(api.GET("/api/about")),
    staleTime: 60_000,
    // A history may come later than the page.
    refetchInterval: ({ state }) =>
      state.data?.session?.registries.some(({ history }) => !history) ? LATER : false,
    retry: true,
    retryDelay: 2000,
  });
  useEffect(() => {
    onSignedOut(() => {
      client.setQueryData<About>(ABOUT, (old) => old && { ...old, session: null });
    });
  }, [client]);
  const session = about.data?.session ?? null;
  // Set while rendering, not afterwards: children ask at once.
  present(session?.csrf ?? "");
  return about;
}

/** Take a new session, or none: after signing in and out. Everything known belongs to the former one. */
export function useSetSession(): (session: Session | null) => void {
  const client = useQueryClient();
  return useCallback(
    (session) => {
      const about = client.getQueryData<About>(ABOUT);
      present(session?.csrf ?? "");
      client.removeQueries({ predicate: (query) => query.queryKey[0] !== ABOUT[0] });
      if (about) client.setQueryData<About>(ABOUT, { ...about, first: about.first && !session, session });
      client.invalidateQueries({ queryKey: ABOUT });
    },
    [client],
  );
}

const Current = createContext<Session | null>(null);

export function SessionProvider({ session, children }: { session: Session; children: ReactNode }) {
  return <Current.Provider value={session}>{children}</Current.Provider>;
}

/** The session; there is one wherever a page is shown. */
export function useSession(): Session {
  const session = useContext(Current);
  if (!session) throw new Error("there is no session here");
  return session;
}
