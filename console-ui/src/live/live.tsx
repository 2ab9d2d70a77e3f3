// The stream of what changes. There is one for the page, of the registry that is looked at and of the job that
// is open; pages need not know of it: what they fetched is patched, or fetched anew.

import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { HERE } from "../api/client";
import { Hearing } from "./hearing";

export interface LiveState {
  state: "joining" | "live" | "away";
  /** What is wrong with the registry. */
  trouble: string | null;
}

const Live = createContext<LiveState>({ state: "joining", trouble: null });

export function useLiveState(): LiveState {
  return useContext(Live);
}

export { keys } from "./hearing";

const AGAIN = 3000;
const HIDDEN = 60_000;

export function LiveProvider({
  registry,
  job,
  children,
}: {
  registry: string;
  job: string | undefined;
  children: ReactNode;
}) {
  return <Live.Provider value={useLive(registry, job)}>{children}</Live.Provider>;
}

/** Follow a registry, and one of its jobs closely. A page that nobody looks at for a while lets go: browsers
 * allow only few streams to one address. */
export function useLive(registry: string, job: string | undefined): LiveState {
  const client = useQueryClient();
  const [now, setNow] = useState<LiveState>({ state: "joining", trouble: null });
  const shown = useShown();

  useEffect(() => {
    if (!shown) return;
    const hearing = new Hearing(client, registry, job);
    let stream: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const open = () => {
      const asked = job === undefined ? "" : `?job=${encodeURIComponent(job)}`;
      stream = new EventSource(`${HERE}/api/r/${encodeURIComponent(registry)}/live${asked}`);
      stream.addEventListener("hello", (event) => {
        setNow({ state: "live", trouble: null });
        hearing.hello(JSON.parse(event.data));
      });
      stream.addEventListener("jobs", (event) => hearing.jobs(JSON.parse(event.data)));
      stream.addEventListener("job", (event) => hearing.job(JSON.parse(event.data)));
      stream.addEventListener("trouble", (event) => {
        setNow({ state: "away", trouble: (JSON.parse(event.data) as { error: string }).error });
      });
      stream.addEventListener("error", () => {
        setNow((before) => (before.trouble ? before : { state: "joining", trouble: null }));
        if (stream?.readyState !== EventSource.CLOSED) return;
        // Refused rather than cut off: perhaps the session is over, which `about` tells.
        client.invalidateQueries({ queryKey: ["about"] });
        timer = setTimeout(open, AGAIN);
      });
    };
    open();
    return () => {
      clearTimeout(timer);
      stream?.close();
      hearing.close();
    };
  }, [client, registry, job, shown]);

  return now;
}

/** Whether anybody looks at the page, or did until a moment ago. */
function useShown(): boolean {
  const [shown, setShown] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (document.visibilityState === "visible") setShown(true);
      else timer = setTimeout(() => setShown(false), HIDDEN);
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return shown;
}
