// What stands where nothing is, not yet, or not any more.

import type { ReactNode } from "react";
import { common } from "../i18n/common";
import { done } from "../i18n/done";
import { useWords } from "../i18n/language";
import { troubleOf } from "../shell/told";
import { Button } from "./Button";

export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Loading() {
  const w = useWords(common);
  return (
    <div className="empty" role="status">
      <span className="spinner" aria-hidden="true" />
      {w.loading}
    </div>
  );
}

/** The sentence of an error, and a way to try again. */
export function TroubleNote({ error, again }: { error: unknown; again?: () => void }) {
  const w = useWords(common);
  const d = useWords(done);
  if (!error) return null;
  return (
    <div className="note bad row spread" role="alert">
      <span>{troubleOf(error, d)}</span>
      {again && (
        <Button small onClick={again}>
          {w.tryAgain}
        </Button>
      )}
    </div>
  );
}
