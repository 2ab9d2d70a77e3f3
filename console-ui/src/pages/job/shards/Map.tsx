// The map of a job's shards: who owns which, and how each is.

import { type KeyboardEvent, type PointerEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import type { ShardMap } from "../../../api/types";
import { job as words } from "../../../i18n/job";
import { useWords } from "../../../i18n/language";
import { useDark } from "../../../lib/theme";
import { colour, hit, layout, slots, step } from "./layout";
import { paint } from "./paint";

interface Props {
  map: ShardMap;
  chosen: number | undefined;
  onChoose: (item: number) => void;
}

export function MapOfShards({ map, chosen, onChoose }: Props) {
  const w = useWords(words).map;
  const dark = useDark();
  const how = useId();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [room, setRoom] = useState(0);
  const [hovered, setHovered] = useState<number | undefined>(undefined);
  const [only, setOnly] = useState<string | undefined>(undefined);
  const colours = useColours(map.members, dark);
  const place = useMemo(() => layout(map.total, room || 600), [map.total, room]);

  useEffect(() => {
    if (!frame.current) return;
    const observer = new ResizeObserver(([entry]) => setRoom(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (!canvas.current || room === 0) return;
    const style = getComputedStyle(document.documentElement);
    const read = (name: string) => style.getPropertyValue(name).trim();
    const onlyOwner = only === undefined ? -1 : map.members.indexOf(only);
    paint(canvas.current, {
      map,
      layout: place,
      chosen,
      hovered,
      only: onlyOwner >= 0 ? onlyOwner : undefined,
      paints: {
        owners: colours,
        line: read("--line"),
        sunken: read("--sunken"),
        muted: read("--muted"),
        text: read("--text"),
        accent: read("--accent"),
        mark: dark ? "#0b0f17" : "#ffffff",
      },
    });
  }, [map, place, chosen, hovered, only, colours, room, dark]);

  const at = (event: PointerEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    return box ? hit(place, map.total, event.clientX - box.left, event.clientY - box.top) : undefined;
  };
  const walk = (event: KeyboardEvent) => {
    const next = chosen === undefined ? 0 : step(place, map.total, chosen, event.key);
    if (next === undefined) return;
    if (chosen === undefined && !/^(Arrow|Home|End|Enter| )/.test(event.key)) return;
    event.preventDefault();
    onChoose(next);
    show(next);
  };
  /** The frame scrolls where there are very many. */
  const show = (item: number) => {
    const top = Math.floor(item / place.columns) * place.pitch;
    const box = frame.current;
    if (!box) return;
    if (top < box.scrollTop) box.scrollTop = top - place.pitch;
    if (top + place.pitch > box.scrollTop + box.clientHeight)
      box.scrollTop = top + 2 * place.pitch - box.clientHeight;
  };

  return (
    <div className="stack">
      {/* A canvas says nothing by itself: the details of the chosen shard are read out, the table has all. */}
      <div
        className="map-frame"
        ref={frame}
        role="application"
        aria-label={w.aria(map.total)}
        aria-describedby={how}
        tabIndex={0}
        onKeyDown={walk}
      >
        <canvas
          ref={canvas}
          data-shards={map.total}
          style={{ width: place.width, height: place.height }}
          onPointerMove={(event) => setHovered(at(event))}
          onPointerLeave={() => setHovered(undefined)}
          onPointerDown={(event) => {
            const item = at(event);
            if (item !== undefined) onChoose(item);
          }}
          title={hovered === undefined ? undefined : tip(map, hovered, w.nobody)}
        />
      </div>
      <p className="visually-hidden" id={how}>
        {w.how}
      </p>
      <Legend map={map} colours={colours} only={only} onOnly={setOnly} />
    </div>
  );
}

/** Colours by place in `members`; whoever stays keeps theirs when others come and go. */
function useColours(members: readonly string[], dark: boolean): string[] {
  const held = useRef<Map<string, number>>(new Map());
  return useMemo(() => {
    held.current = slots(held.current, members);
    return members.map((id) => colour(held.current.get(id) ?? 0, dark));
  }, [members, dark]);
}

function tip(map: ShardMap, item: number, nobody: string): string {
  const owner = map.members[map.owner[item] ?? -1] ?? nobody;
  const runner = map.members[map.running[item] ?? -1];
  return runner && runner !== owner ? `${item}: ${owner} ▶ ${runner}` : `${item}: ${owner}`;
}

interface LegendProps {
  map: ShardMap;
  colours: readonly string[];
  only: string | undefined;
  onOnly: (id: string | undefined) => void;
}

function Legend({ map, colours, only, onOnly }: LegendProps) {
  const w = useWords(words).map;
  const owned = useMemo(() => {
    const counts = map.members.map(() => 0);
    for (const owner of map.owner) if (owner >= 0) counts[owner] = (counts[owner] ?? 0) + 1;
    return counts;
  }, [map]);
  return (
    <div className="legend">
      <ul aria-label={w.legend}>
        {map.members.map((id, index) => (
          <li key={id}>
            <button
              type="button"
              className={index < map.here ? "owner" : "owner gone"}
              aria-pressed={only === id}
              data-member={id}
              onClick={() => onOnly(only === id ? undefined : id)}
            >
              <span
                className="swatch"
                style={index < map.here ? { background: colours[index] } : undefined}
                aria-hidden="true"
              />
              <span className="mono">{id}</span>
              <span className="muted">
                {w.owns(owned[index] ?? 0)}
                {index >= map.here && `, ${w.gone}`}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <ul aria-label={w.marks} className="marks">
        {(["running", "failover", "disabled", "moving", "unassigned"] as const).map((mark) => (
          <li key={mark}>
            <span className={`mark ${mark}`} aria-hidden="true" />
            {w[mark]}
          </li>
        ))}
      </ul>
    </div>
  );
}
