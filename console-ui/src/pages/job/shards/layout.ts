// Where each shard's cell is on the map, and which colour its owner has.

export interface Layout {
  /** The side of a cell, without the gap. */
  cell: number;
  /** From one cell to the next. */
  pitch: number;
  columns: number;
  rows: number;
  width: number;
  height: number;
}

const SIDES = [34, 26, 18, 12, 8, 5];
const HIGH = 460;

/** A grid as wide as there is room, with the largest cells that let all be seen at once; where there are too many
 * for that, the smallest. */
export function layout(total: number, room: number): Layout {
  const all = SIDES.map((cell) => grid(total, room, cell));
  return all.find((each) => each.height <= HIGH) ?? grid(total, room, SIDES.at(-1) ?? 5);
}

function grid(total: number, room: number, cell: number): Layout {
  const pitch = cell + (cell >= 12 ? 3 : cell >= 8 ? 2 : 1);
  const columns = Math.max(1, Math.min(total, Math.floor((room + pitch - cell) / pitch)));
  const rows = Math.ceil(total / columns);
  return { cell, pitch, columns, rows, width: columns * pitch, height: Math.max(pitch, rows * pitch) };
}

/** Which shard is at a point, if any. */
export function hit(map: Layout, total: number, x: number, y: number): number | undefined {
  const [column, row] = [Math.floor(x / map.pitch), Math.floor(y / map.pitch)];
  if (column < 0 || row < 0 || column >= map.columns) return undefined;
  const item = row * map.columns + column;
  return item < total ? item : undefined;
}

/** The shard that a key leads to. */
export function step(map: Layout, total: number, from: number, key: string): number | undefined {
  const there = {
    ArrowRight: from + 1,
    ArrowLeft: from - 1,
    ArrowDown: from + map.columns,
    ArrowUp: from - map.columns,
    PageDown: from + map.columns * 10,
    PageUp: from - map.columns * 10,
    Home: 0,
    End: total - 1,
  }[key];
  if (there === undefined) return undefined;
  if (key.startsWith("Page")) return Math.min(Math.max(0, there), total - 1);
  return there >= 0 && there < total ? there : from;
}

/** Who has which colour: whoever had one keeps it, those who come take the first that is free. */
export function slots(before: ReadonlyMap<string, number>, members: readonly string[]): Map<string, number> {
  const kept = new Map(members.flatMap((id) => (before.has(id) ? [[id, before.get(id) as number]] : [])));
  const taken = new Set(kept.values());
  let next = 0;
  for (const id of members) {
    if (kept.has(id)) continue;
    while (taken.has(next)) next++;
    kept.set(id, next);
    taken.add(next);
  }
  return kept;
}

// The first are chosen: far apart, and neither the red nor the green that outcomes have.
const HUES = [264, 62, 190, 312, 352, 228, 112, 36];

/** A colour for a place among the owners: hues far apart, and lighter or darker once they come round. */
export function colour(slot: number, dark: boolean): string {
  const hue = HUES[slot] ?? Math.round((264 + slot * 137.508) % 360);
  const lighter = [0, 0.09, -0.09][Math.floor(slot / 8) % 3] ?? 0;
  return dark ? `oklch(${0.72 + lighter} 0.11 ${hue})` : `oklch(${0.55 + lighter} 0.13 ${hue})`;
}
