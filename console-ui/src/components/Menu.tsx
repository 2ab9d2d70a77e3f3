import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "./Button";
import type { IconName } from "./Icon";

export interface MenuItem {
  title: ReactNode;
  onChoose: () => void;
  icon?: IconName;
  danger?: boolean;
  /** Why it cannot be chosen. */
  why?: string | undefined;
  checked?: boolean;
}

interface Props {
  label: string;
  icon?: IconName;
  /** What the button says; its label alone is read out otherwise. */
  children?: ReactNode;
  items: readonly (MenuItem | "line")[];
  head?: ReactNode;
  small?: boolean;
  kind?: "plain" | "quiet";
}

/** A button that opens a list of things to do. */
export function Menu({ label, icon, children, items, head, small = false, kind = "quiet" }: Props) {
  const [open, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();

  useEffect(() => {
    if (!open) return;
    // Over everything: a menu in a table would be cut off by it otherwise.
    raise(panel.current, place.current);
    const away = (event: Event) => {
      if (!(event.target instanceof Node && panel.current?.contains(event.target))) setOpen(false);
    };
    window.addEventListener("scroll", away, true);
    window.addEventListener("resize", away);
    place.current?.querySelector<HTMLElement>('[role^="menuitem"]:not(:disabled)')?.focus();
    const outside = (event: PointerEvent) => {
      if (!place.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      window.removeEventListener("scroll", away, true);
      window.removeEventListener("resize", away);
    };
  }, [open]);

  const step = (event: KeyboardEvent) => {
    if (!open) return;
    const all = [
      ...(place.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)') ?? []),
    ];
    const here = all.indexOf(document.activeElement as HTMLElement);
    const there = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      Home: 0,
      End: -1,
    }[event.key];
    if (there !== undefined) {
      event.preventDefault();
      all.at(there % all.length)?.focus();
    }
    if (event.key === "Escape" || event.key === "Tab") {
      setOpen(false);
      if (event.key === "Escape") place.current?.querySelector<HTMLElement>("button")?.focus();
    }
  };

  return (
    <div className="menu" ref={place} onKeyDown={step}>
      <Button
        kind={kind}
        small={small}
        icon={icon}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {children}
      </Button>
      {open && (
        <div className="panel" role="menu" id={id} aria-label={label} ref={panel} popover="manual">
          {head && <div className="said">{head}</div>}
          {items.map((item, index) =>
            item === "line" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else
              <hr key={`line-${index}`} />
            ) : (
              // biome-ignore lint/a11y/useAriaPropsSupportedByRole: only one that can be checked has it
              <button
                // biome-ignore lint/suspicious/noArrayIndexKey: titles may be the same
                key={index}
                type="button"
                role={item.checked === undefined ? "menuitem" : "menuitemradio"}
                aria-checked={item.checked}
                className={item.danger ? "item danger" : "item"}
                disabled={item.why !== undefined}
                title={item.why}
                tabIndex={-1}
                onClick={() => {
                  setOpen(false);
                  place.current?.querySelector<HTMLElement>("button")?.focus();
                  item.onChoose();
                }}
              >
                {item.checked !== undefined && (
                  <span aria-hidden="true">{item.checked ? "✓" : "\u2003"}</span>
                )}
                {item.title}
              </button>
            ),
          )}
        </div>
      )}
    </div>
  );
}

/** Below its button, or above where there is no room, and within the window. */
function raise(panel: HTMLElement | null, button: HTMLElement | null): void {
  if (!panel || !button) return;
  panel.showPopover();
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = panel;
  const below = at.bottom + 6 + height <= window.innerHeight || at.top < height + 6;
  panel.style.top = `${below ? at.bottom + 6 : at.top - 6 - height}px`;
  panel.style.left = `${Math.max(8, Math.min(at.right - width, window.innerWidth - width - 8))}px`;
}
