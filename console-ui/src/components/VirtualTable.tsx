// A table of which only the rows in sight are in the page. Arrows, Page Up and Down, Home and End walk through
// it; Enter opens a row, space selects it. Screen readers are told which row of how many it is.

import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { common } from "../i18n/common";
import { useWords } from "../i18n/language";
import { useNarrow } from "../lib/narrow";
import { EmptyState } from "./States";

export interface Column<Row> {
  id: string;
  title: ReactNode;
  /** A track of CSS grid: "120px", "minmax(160px, 2fr)". */
  width: string;
  cell: (row: Row) => ReactNode;
  /** How rows are compared; true where whoever gives the rows sorts them. */
  sort?: ((a: Row, b: Row) => number) | true;
  align?: "end";
  /** Left out on narrow screens. */
  wide?: boolean;
}

export interface Order {
  by: string;
  descending: boolean;
}

export interface Choice {
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
  /** While something is done to what is chosen, nothing else can be. */
  fixed?: boolean;
}

interface Props<Row> {
  label: string;
  columns: readonly Column<Row>[];
  /** All rows; or else `count`, `at` and `onRange`, where they come page by page. */
  rows?: readonly Row[];
  count?: number;
  at?: (index: number) => Row | undefined;
  onRange?: (first: number, last: number) => void;
  rowKey: (row: Row) => string;
  onOpen?: (row: Row) => void;
  choice?: Choice;
  /** The order, where whoever gives the rows keeps it. */
  order?: Order | undefined;
  onOrder?: (order: Order) => void;
  rowHeight?: number;
  /** No higher than its rows, and not higher than most of the window. */
  short?: boolean;
  empty?: ReactNode;
  /** A line at its foot. */
  foot?: ReactNode;
}

export function VirtualTable<Row>({
  label,
  columns,
  rows,
  count,
  at,
  onRange,
  rowKey,
  onOpen,
  choice,
  order,
  onOrder,
  rowHeight = 36,
  short = false,
  empty,
  foot,
}: Props<Row>) {
  const w = useWords(common);
  const narrow = useNarrow();
  const shown = narrow ? columns.filter((column) => !column.wide) : columns;
  const [own, setOwn] = useState<Order | undefined>(undefined);
  const sorting = onOrder ? order : own;
  const sorted = useMemo(
    () => inOrder(rows, columns, onOrder ? undefined : own),
    [rows, columns, own, onOrder],
  );
  const total = sorted ? sorted.length : (count ?? 0);
  const row = (index: number) => (sorted ? sorted[index] : at?.(index));

  const scroll = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const focus = useRef(false);
  const virtual = useVirtualizer({
    count: total,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollPaddingStart: 36,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;

  useEffect(() => {
    if (total > 0) onRange?.(first, last);
  }, [first, last, total, onRange]);

  useEffect(() => {
    if (active >= total && total > 0) setActive(total - 1);
  }, [active, total]);

  // The row may have to be scrolled into being before it can be focused.
  useEffect(() => {
    if (!focus.current) return;
    const place = scroll.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    if (place) {
      place.focus({ preventScroll: true });
      focus.current = false;
    }
  });

  const walk = (event: KeyboardEvent<HTMLTableRowElement>, index: number) => {
    if (event.target !== event.currentTarget) return;
    const page = Math.max(1, Math.floor((scroll.current?.clientHeight ?? 400) / rowHeight) - 2);
    const there = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: total - 1,
    }[event.key];
    if (there !== undefined) {
      event.preventDefault();
      const to = Math.min(Math.max(0, there), total - 1);
      focus.current = true;
      setActive(to);
      virtual.scrollToIndex(to, { align: "auto" });
      return;
    }
    const here = row(index);
    if (!here) return;
    if (event.key === "Enter" && onOpen) {
      event.preventDefault();
      onOpen(here);
    }
    if (event.key === " " && choice) {
      event.preventDefault();
      if (!choice.fixed) choice.onChange(toggled(choice.chosen, rowKey(here)));
    }
  };

  const sortBy = (column: Column<Row>) => {
    const next = { by: column.id, descending: sorting?.by === column.id ? !sorting.descending : false };
    if (onOrder) onOrder(next);
    else setOwn(next);
  };

  const tracks = [choice && "34px", ...shown.map((column) => column.width)].filter(Boolean).join(" ");
  const inSight = items.flatMap((item) => {
    const one = row(item.index);
    return one ? [rowKey(one)] : [];
  });
  const allChosen =
    choice !== undefined && inSight.length > 0 && inSight.every((key) => choice.chosen.has(key));

  return (
    <div className={short ? "vtable short" : "vtable"}>
      <div className="scroll" ref={scroll}>
        <table
          role="grid"
          aria-label={label}
          aria-rowcount={total + 1}
          aria-colcount={shown.length + (choice ? 1 : 0)}
          aria-multiselectable={choice ? true : undefined}
        >
          <thead role="rowgroup">
            <tr role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
              {choice && (
                <th role="columnheader" scope="col" className="tick">
                  <input
                    type="checkbox"
                    aria-label={w.selectAll}
                    checked={allChosen}
                    disabled={choice.fixed || inSight.length === 0}
                    onChange={() => {
                      const chosen = new Set(choice.chosen);
                      for (const key of inSight) allChosen ? chosen.delete(key) : chosen.add(key);
                      choice.onChange(chosen);
                    }}
                  />
                </th>
              )}
              {shown.map((column) => (
                <th
                  key={column.id}
                  role="columnheader"
                  scope="col"
                  className={column.align}
                  aria-sort={
                    column.sort && sorting?.by === column.id
                      ? sorting.descending
                        ? "descending"
                        : "ascending"
                      : undefined
                  }
                >
                  {column.sort ? (
                    <button type="button" onClick={() => sortBy(column)}>
                      {column.title}
                    </button>
                  ) : (
                    column.title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup" style={{ height: virtual.getTotalSize() }}>
            {items.map((item) => {
              const one = row(item.index);
              const key = one ? rowKey(one) : undefined;
              const chosen = key !== undefined && choice?.chosen.has(key);
              return (
                <tr
                  key={item.index}
                  role="row"
                  data-index={item.index}
                  data-key={key}
                  aria-rowindex={item.index + 2}
                  aria-selected={choice ? (chosen ?? false) : undefined}
                  className={onOpen ? "opens" : undefined}
                  tabIndex={item.index === active ? 0 : -1}
                  style={{
                    gridTemplateColumns: tracks,
                    height: item.size,
                    transform: `translateY(${item.start}px)`,
                  }}
                  onKeyDown={(event) => walk(event, item.index)}
                  onFocus={() => setActive(item.index)}
                  onClick={(event) => {
                    if (one && onOpen && !isControl(event.target, event.currentTarget)) onOpen(one);
                  }}
                >
                  {choice && (
                    <td role="gridcell" className="tick">
                      {key !== undefined && (
                        <input
                          type="checkbox"
                          tabIndex={-1}
                          aria-label={w.selectRow(key)}
                          checked={chosen}
                          disabled={choice.fixed}
                          onChange={() => choice.onChange(toggled(choice.chosen, key))}
                        />
                      )}
                    </td>
                  )}
                  {shown.map((column) => (
                    <td key={column.id} role="gridcell" className={column.align}>
                      {one ? column.cell(one) : <span className="waiting" aria-hidden="true" />}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
        {total === 0 && (empty ?? <EmptyState title={w.none} />)}
      </div>
      {foot && <div className="sum">{foot}</div>}
    </div>
  );
}

function inOrder<Row>(
  rows: readonly Row[] | undefined,
  columns: readonly Column<Row>[],
  order: Order | undefined,
): readonly Row[] | undefined {
  const compare = columns.find((column) => column.id === order?.by)?.sort;
  if (!rows || !order || typeof compare !== "function") return rows;
  const sorted = rows.toSorted(compare);
  return order.descending ? sorted.reverse() : sorted;
}

function toggled(chosen: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(chosen);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** Whether what was clicked does something by itself. */
function isControl(target: EventTarget, within: Element): boolean {
  const control =
    target instanceof Element ? target.closest("a, button, input, select, label, textarea") : null;
  return control !== null && within.contains(control);
}
