import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import type { Timeline } from "../../../api/types";
import { outcomeText, outcomeTone } from "../../../components/Badge";
import { common } from "../../../i18n/common";
import { job as words } from "../../../i18n/job";
import { locale, useLanguage, useWords } from "../../../i18n/language";
import { useNow } from "../../../lib/clock";
import { go, withAsked } from "../../../lib/place";
import { length, local } from "../../../lib/times";
import { useRegistry } from "../../../shell/registry";
import { type Bar, chart } from "./layout";

const [LEFT, TOP, ROW] = [46, 24, 15];

interface Props {
  name: string;
  timeline: Timeline;
  mode: "fire" | "clock";
}

/** Bars of runs; arrows walk from one to the next, Enter or a click opens it in the history. */
export function Gantt({ name, timeline, mode }: Props) {
  const w = useWords(words).timeline;
  const c = useWords(common);
  const speech = locale(useLanguage());
  const { to } = useRegistry();
  const running = timeline.fires.some((fire) => fire.shards.some((run) => run.disposition === "RUNNING"));
  const ticking = useNow();
  const [first] = useState(ticking);
  const now = running ? ticking : first;
  const frame = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(800);
  const [picked, setPicked] = useState<{ fire: string; shard: number } | null>(null);
  const ids = useId();

  useEffect(() => {
    if (!frame.current) return;
    const observer = new ResizeObserver(([entry]) => setRoom(Math.floor(entry?.contentRect.width ?? 800)));
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);

  const width = Math.max(room - LEFT - 4, timeline.fires.length * 26);
  const drawn = useMemo(() => chart(timeline, mode, width, now), [timeline, mode, width, now]);
  const height = TOP + drawn.shards.length * ROW;
  const bar = drawn.bars.find((each) => each.fire === picked?.fire && each.shard === picked?.shard);

  const say = (each: Bar) =>
    [
      `${w.shard(each.shard)}, ${w.due} ${local(Date.parse(each.due), now, speech)}`,
      outcomeText(c, each.disposition, each.outcome),
      each.began &&
        length((Date.parse(each.ended ?? new Date(now).toISOString()) - Date.parse(each.began)) / 1000),
      each.process,
    ]
      .filter(Boolean)
      .join(" · ");
  const open = (each: Bar) =>
    go(
      withAsked(to("history"), {
        job: name,
        shard: String(each.shard),
        fire: each.fire,
        begin: each.due,
        end: new Date(Date.parse(each.due) + 1000).toISOString(),
      }),
    );
  const walk = (event: KeyboardEvent) => {
    if (event.key === "Enter" && bar) return open(bar);
    const [dx, dy] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[
      event.key
    ] ?? [0, 0];
    if (!dx && !dy) return;
    event.preventDefault();
    const next = bar ? nearest(drawn.bars, bar, dx ?? 0, dy ?? 0) : drawn.bars.at(-1);
    if (next) setPicked({ fire: next.fire, shard: next.shard });
  };

  return (
    <>
      <div className="gantt" ref={frame}>
        <svg
          width={LEFT + width}
          height={height + 4}
          role="application"
          aria-label={w.aria}
          aria-describedby={`${ids}-how`}
          tabIndex={0}
          onKeyDown={walk}
        >
          <defs>
            <pattern
              id={`${ids}-hatch`}
              width="6"
              height="6"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <line className="hatch" x1="0" y1="0" x2="0" y2="6" />
            </pattern>
          </defs>
          {drawn.shards.map((shard, row) => (
            <g key={shard}>
              {row % 2 === 0 && (
                <rect className="lane" x={LEFT} y={TOP + row * ROW} width={width} height={ROW} />
              )}
              <text x={LEFT - 8} y={TOP + row * ROW + 11} textAnchor="end">
                {shard}
              </text>
            </g>
          ))}
          {drawn.columns.map((column, index) => (
            <g key={column.fire}>
              <line className="divide" x1={LEFT + column.x} x2={LEFT + column.x} y1={TOP - 4} y2={height} />
              {isLabelled(drawn.columns, index, width) && (
                <text x={LEFT + column.x + 3} y={14}>
                  {local(Date.parse(column.due), now, speech)}
                </text>
              )}
            </g>
          ))}
          {drawn.bars.map((each) => {
            const at = {
              x: LEFT + each.x,
              y: TOP + each.row * ROW + 2,
              width: each.width,
              height: ROW - 4,
              rx: 2,
            };
            return (
              <g
                key={`${each.fire}/${each.shard}`}
                onClick={() => open(each)}
                onPointerEnter={() => setPicked({ fire: each.fire, shard: each.shard })}
              >
                <rect className={`bar ${outcomeTone(each.disposition, each.outcome)}`} {...at}>
                  <title>{say(each)}</title>
                </rect>
                {each.disposition === "FAILED_OVER" && (
                  <rect {...at} fill={`url(#${ids}-hatch)`} pointerEvents="none" />
                )}
              </g>
            );
          })}
          {bar && (
            <rect
              className="picked"
              x={LEFT + bar.x - 1.5}
              y={TOP + bar.row * ROW + 0.5}
              width={bar.width + 3}
              height={ROW - 1}
              rx={3}
              pointerEvents="none"
            />
          )}
        </svg>
      </div>
      <p className="gantt-words" aria-live="polite">
        {bar ? (
          say(bar)
        ) : (
          <span className="muted">{mode === "fire" && w.span(length(drawn.span / 1000))}</span>
        )}
      </p>
      <p className="visually-hidden" id={`${ids}-how`}>
        {w.how}
      </p>
    </>
  );
}

/** The next bar in a direction: the same shard in another fire, or another shard of the same fire. */
export function nearest(bars: readonly Bar[], from: Bar, dx: number, dy: number): Bar | undefined {
  const beyond = bars.filter((each) =>
    dx
      ? each.row === from.row && (each.column - from.column) * dx > 0
      : each.column === from.column && (each.row - from.row) * dy > 0,
  );
  const far = (each: Bar) => Math.abs(dx ? each.column - from.column : each.row - from.row);
  return beyond.toSorted((a, b) => far(a) - far(b))[0];
}

/** Whether there is room for a time over a column. */
function isLabelled(columns: readonly { x: number }[], index: number, width: number): boolean {
  const room = 92;
  const every = Math.max(1, Math.ceil((room * columns.length) / width));
  return index % every === 0;
}
