import { type ReactNode, useEffect, useId, useRef } from "react";
import { common } from "../i18n/common";
import { useWords } from "../i18n/language";
import { Button } from "./Button";

interface Props {
  title: ReactNode;
  onClose: () => void;
  /** Buttons at its foot. */
  footer?: ReactNode;
  wide?: boolean;
  children: ReactNode;
  /** With this it is a form, and Enter submits it. */
  onSubmit?: () => void;
}

/** A dialog that is open as long as it is there. The focus goes into it and comes back by itself. */
export function Dialog({ title, onClose, footer, wide = false, children, onSubmit }: Props) {
  const w = useWords(common);
  const place = useRef<HTMLDialogElement>(null);
  const heading = useId();

  useEffect(() => {
    const dialog = place.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it by itself
    <dialog
      ref={place}
      className={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === place.current) onClose();
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <Button kind="quiet" small icon="close" aria-label={w.close} onClick={onClose} />
      </header>
      {onSubmit ? (
        <form
          className="dialog-form"
          onSubmit={(event) => {
            event.preventDefault();
            onSubmit();
          }}
        >
          <div className="body stack">{children}</div>
          {footer && <footer>{footer}</footer>}
        </form>
      ) : (
        <>
          <div className="body stack">{children}</div>
          {footer && <footer>{footer}</footer>}
        </>
      )}
    </dialog>
  );
}
