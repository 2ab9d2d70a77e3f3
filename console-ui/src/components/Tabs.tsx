import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";

interface Props<Id extends string> {
  label: string;
  tabs: readonly { id: Id; title: ReactNode }[];
  current: Id;
  onChange: (id: Id) => void;
  children: ReactNode;
}

/** Tabs and the panel of the one that is chosen; arrows go from one to the next. */
export function Tabs<Id extends string>({ label, tabs, current, onChange, children }: Props<Id>) {
  const base = useId();
  const list = useRef<HTMLDivElement>(null);

  const step = (event: KeyboardEvent) => {
    const here = tabs.findIndex((tab) => tab.id === current);
    const there = {
      ArrowRight: (here + 1) % tabs.length,
      ArrowLeft: (here - 1 + tabs.length) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    const tab = there === undefined ? undefined : tabs[there];
    if (!tab) return;
    event.preventDefault();
    onChange(tab.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${tab.id}"]`)?.focus();
  };

  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={step}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${base}-${tab.id}`}
            data-tab={tab.id}
            aria-selected={tab.id === current}
            aria-controls={`${base}-panel`}
            tabIndex={tab.id === current ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${base}-panel`} aria-labelledby={`${base}-${current}`} className="stack">
        {children}
      </div>
    </>
  );
}
