// Doing something: what became of it is said, and what is shown is fetched anew.

import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type { Done } from "../api/types";
import { useToast } from "../components/Toast";
import { common } from "../i18n/common";
import { done } from "../i18n/done";
import { locale, useLanguage, useWords } from "../i18n/language";
import { local } from "../lib/times";
import { toldOf, troubleOf } from "./told";

export type Act = <Data>(
  call: () => Promise<Data>,
  /** What is said when it worked; a Done says it by itself. */
  said?: string | ((data: Data) => string),
) => Promise<Data | undefined>;

/** What does not change by anything that is done here; a comparison is asked for once. */
const FIXED = new Set<unknown>(["about", "schema", "schedule", "diff"]);

/** `const done = await act(() => answer(api.POST(…)))`: the answer, or undefined when it did not work, of which
 * the reader has been told by then. */
export function useAct(): Act {
  const say = useToast();
  const client = useQueryClient();
  const w = useWords(common);
  const d = useWords(done);
  const speech = locale(useLanguage());
  return useCallback(
    async (call, said) => {
      try {
        const data = await call();
        const text = typeof said === "function" ? said(data) : said;
        const moment = (at: string) => local(Date.parse(at), Date.now(), speech);
        say(text ?? (isDone(data) ? toldOf(data, d, moment) : w.done));
        return data;
      } catch (error) {
        say(troubleOf(error, d), "bad");
        return undefined;
      } finally {
        client.invalidateQueries({ predicate: (query) => !FIXED.has(query.queryKey[0]) });
      }
    },
    [say, client, w, d, speech],
  );
}

function isDone(data: unknown): data is Done {
  return typeof data === "object" && data !== null && "what" in data && "target" in data && "changed" in data;
}
