// What became of what one did: shown for a while, and read out.

import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { common } from "../i18n/common";
import { useWords } from "../i18n/language";
import { Button } from "./Button";

export type Say = (text: string, tone?: "ok" | "bad") => void;

interface Said {
  id: number;
  text: string;
  tone: "ok" | "bad";
}

const Saying = createContext<Say>(() => {});
const SHOWN = { ok: 6000, bad: 15_000 };

/** `say("Done.")`, `say("That was refused.", "bad")`. */
export function useToast(): Say {
  return useContext(Saying);
}

export function ToastProvider({ children }: { children: ReactNode }) {
  const w = useWords(common);
  const [said, setSaid] = useState<readonly Said[]>([]);
  const next = useRef(0);
  const place = useRef<HTMLDivElement>(null);

  const drop = useCallback((id: number) => setSaid((all) => all.filter((each) => each.id !== id)), []);
  const say = useCallback<Say>(
    (text, tone = "ok") => {
      const id = next.current++;
      setSaid((all) => [...all.slice(-3), { id, text, tone }]);
      setTimeout(() => drop(id), SHOWN[tone]);
    },
    [drop],
  );

  // A modal dialog covers everything but what is in the top layer, too: so toasts are a popover, raised anew.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is raised whenever something is said
  useEffect(() => {
    const region = place.current;
    if (!region?.showPopover) return;
    if (region.matches(":popover-open")) region.hidePopover();
    region.showPopover();
  }, [said]);

  return (
    <Saying.Provider value={say}>
      {children}
      <div ref={place} className="toasts" popover="manual">
        <div role="status" aria-live="polite" className="stack">
          {said
            .filter((each) => each.tone === "ok")
            .map((each) => (
              <Toast key={each.id} said={each} close={w.close} drop={drop} />
            ))}
        </div>
        <div role="alert" className="stack">
          {said
            .filter((each) => each.tone === "bad")
            .map((each) => (
              <Toast key={each.id} said={each} close={w.close} drop={drop} />
            ))}
        </div>
      </div>
    </Saying.Provider>
  );
}

function Toast({ said, close, drop }: { said: Said; close: string; drop: (id: number) => void }) {
  return (
    <div className={`toast ${said.tone}`}>
      <p>{said.text}</p>
      <Button kind="quiet" small icon="close" aria-label={close} onClick={() => drop(said.id)} />
    </div>
  );
}
