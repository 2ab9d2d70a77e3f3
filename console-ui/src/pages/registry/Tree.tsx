// The tree: only the rows in sight are in the page, and only what was opened has been read. Keys are those of a
// WAI-ARIA tree: arrows walk, open and close, Home and End jump, letters find.

import { useQueries } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import type { TreeNode } from "../../api/types";
import { useWords } from "../../i18n/language";
import { registry as words } from "../../i18n/registry";
import { useRegistry } from "../../shell/registry";
import { nodeQuery } from "./nodes";
import { parent } from "./paths";
import { type Row, rowsOf } from "./rows";

interface Props {
  open: ReadonlySet<string>;
  onOpen: (open: ReadonlySet<string>) => void;
  chosen: string | undefined;
  onChoose: (path: string) => void;
}

const HEIGHT = 28;

export function Tree({ open, onOpen, chosen, onChoose }: Props) {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  // What is chosen is read for its details anyhow, and tells whether there is anything below it.
  const paths = useMemo(() => [...new Set([...open, ...(chosen ? [chosen] : [])])], [open, chosen]);
  const read = useQueries({
    queries: paths.map((path) => nodeQuery(registry, path)),
    combine: (found) =>
      new Map(
        found.flatMap((each, index): [string, TreeNode][] => {
          const path = paths[index];
          return each.data && path !== undefined ? [[path, each.data]] : [];
        }),
      ),
  });
  const rows = useMemo(() => rowsOf(open, read), [open, read]);
  const [active, setActive] = useState(chosen ?? "/");
  const here = Math.max(
    0,
    rows.findIndex((row) => row.path === active),
  );
  const scroll = useRef<HTMLDivElement>(null);
  const focus = useRef(false);
  const typed = useRef({ text: "", at: 0 });
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => HEIGHT,
    overscan: 16,
  });

  // What was chosen by a path is scrolled to as soon as the way to it has been read.
  const index = chosen === undefined ? -1 : rows.findIndex((row) => row.path === chosen);
  const shown = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (index < 0 || shown.current === chosen) return;
    shown.current = chosen;
    setActive(chosen ?? "/");
    virtual.scrollToIndex(index, { align: "auto" });
  }, [index, chosen, virtual]);

  // A row may have to be scrolled into being before it can be focused.
  useEffect(() => {
    if (!focus.current) return;
    const place = scroll.current?.querySelector<HTMLElement>(`[data-index="${here}"]`);
    if (place) {
      place.focus({ preventScroll: true });
      focus.current = false;
    }
  });

  const move = (to: number) => {
    const row = rows[Math.min(Math.max(0, to), rows.length - 1)];
    if (!row) return;
    focus.current = true;
    setActive(row.path);
    virtual.scrollToIndex(rows.indexOf(row), { align: "auto" });
  };
  const set = (path: string, wanted: boolean) => {
    const next = new Set(open);
    if (wanted) next.add(path);
    else next.delete(path);
    onOpen(next);
  };
  const choose = (path: string) => {
    shown.current = path; // one is there already, and may walk on before it comes back as the choice
    onChoose(path);
  };
  const find = (letter: string) => {
    const now = Date.now();
    const text = now - typed.current.at < 700 ? typed.current.text + letter : letter;
    typed.current = { text, at: now };
    const from = text.length === 1 ? here + 1 : here;
    const turned = [...rows.slice(from), ...rows.slice(0, from)];
    const found = turned.find((row) => row.name.toLowerCase().startsWith(text.toLowerCase()));
    if (found) move(rows.indexOf(found));
  };

  const inwards = (row: Row) => {
    if (row.isOpen === false) set(row.path, true);
    else if (row.isOpen && (rows[here + 1]?.level ?? 0) > row.level) move(here + 1);
  };
  const outwards = (row: Row) => {
    if (row.isOpen) set(row.path, false);
    else move(rows.findIndex((each) => each.path === parent(row.path)));
  };
  const walk = (event: KeyboardEvent, row: Row) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const there = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: here + 15,
      PageUp: here - 15,
    }[event.key];
    if (there !== undefined) move(there);
    else if (event.key === "ArrowRight") inwards(row);
    else if (event.key === "ArrowLeft") outwards(row);
    else if (event.key === "Enter" || event.key === " ") choose(row.path);
    else if (event.key.length === 1) find(event.key);
    else return;
    event.preventDefault();
  };

  return (
    <div className="tree" ref={scroll}>
      <div
        role="tree"
        aria-label={t.tree}
        aria-describedby="tree-keys"
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          if (row.left !== undefined) {
            return (
              <div
                key={row.path}
                role="none"
                className="node left muted"
                title={t.leftHelp(row.of - row.left)}
                style={placed(item.start, row.level)}
              >
                {t.left(row.left)}
              </div>
            );
          }
          return (
            <div
              key={row.path}
              role="treeitem"
              className="node"
              data-index={item.index}
              data-path={row.path}
              aria-level={row.level}
              aria-posinset={row.place}
              aria-setsize={row.of}
              aria-expanded={row.isOpen}
              aria-selected={row.path === chosen}
              tabIndex={item.index === here ? 0 : -1}
              style={placed(item.start, row.level)}
              onFocus={() => setActive(row.path)}
              onKeyDown={(event) => walk(event, row)}
              onClick={() => onChoose(row.path)}
              onDoubleClick={() => set(row.path, !row.isOpen)}
            >
              <span
                className="twist"
                aria-hidden="true"
                onClick={(event) => {
                  event.stopPropagation();
                  if (row.isOpen !== undefined) set(row.path, !row.isOpen);
                }}
              >
                {row.isOpen === undefined ? "" : row.isOpen ? "▾" : "▸"}
              </span>
              <span className="cut">{row.name}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function placed(start: number, level: number) {
  return {
    height: HEIGHT,
    transform: `translateY(${start}px)`,
    paddingInlineStart: 6 + (level - 1) * 16,
  };
}
