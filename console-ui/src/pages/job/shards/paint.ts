// Painting the map. A cell has its owner's colour; marks are shapes, so that they show in any colour.

import type { ShardMap } from "../../../api/types";
import type { Layout } from "./layout";

export interface Paints {
  /** By place in `members`. */
  owners: readonly string[];
  line: string;
  sunken: string;
  muted: string;
  text: string;
  accent: string;
  mark: string;
}

interface Drawn {
  map: ShardMap;
  layout: Layout;
  paints: Paints;
  chosen: number | undefined;
  hovered: number | undefined;
  /** Only this owner's cells are in colour. */
  only: number | undefined;
}

export function paint(canvas: HTMLCanvasElement, drawn: Drawn): void {
  const { layout, map } = drawn;
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * scale);
  canvas.height = Math.round(layout.height * scale);
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(scale, scale);
  const failover = new Set(map.failover);
  for (let item = 0; item < map.total; item++) {
    const x = (item % layout.columns) * layout.pitch;
    const y = Math.floor(item / layout.columns) * layout.pitch;
    cell(pen, drawn, item, x, y);
    marks(pen, drawn, item, x, y, failover.has(item), map.moving[item] !== undefined);
  }
  for (const [item, width] of [
    [drawn.hovered, 1],
    [drawn.chosen, 2],
  ] as const) {
    if (item !== undefined) outline(pen, drawn, item, width);
  }
}

function cell(pen: CanvasRenderingContext2D, drawn: Drawn, item: number, x: number, y: number): void {
  const { map, layout, paints, only } = drawn;
  const side = layout.cell;
  const owner = map.owner[item] ?? -1;
  const here = owner >= 0 && owner < map.here;
  const dim = only !== undefined && owner !== only;
  pen.globalAlpha = dim ? 0.16 : 1;
  if (map.state[item] === "D") {
    pen.fillStyle = paints.sunken;
    pen.fillRect(x, y, side, side);
    pen.strokeStyle = paints.muted;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
  } else if (!here) {
    // Nobody's, or of somebody who is gone: an empty frame.
    pen.strokeStyle = paints.muted;
    pen.lineWidth = 1;
    pen.setLineDash([2, 2]);
    pen.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
    pen.setLineDash([]);
  } else {
    pen.fillStyle = paints.owners[owner] ?? paints.muted;
    pen.fillRect(x, y, side, side);
  }
  if (side >= 26) {
    pen.fillStyle = here && map.state[item] !== "D" ? paints.mark : paints.text;
    pen.font = `600 ${side >= 34 ? 11 : 9}px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    pen.fillText(String(item), x + side / 2, y + side - (side >= 34 ? 6 : 4));
  }
  pen.globalAlpha = 1;
}

function marks(
  pen: CanvasRenderingContext2D,
  drawn: Drawn,
  item: number,
  x: number,
  y: number,
  failedOver: boolean,
  moving: boolean,
): void {
  const { map, layout, paints } = drawn;
  const side = layout.cell;
  const state = map.state[item];
  if (state === "D") {
    pen.strokeStyle = paints.muted;
    pen.lineWidth = side >= 18 ? 1.5 : 1;
    pen.beginPath();
    pen.moveTo(x + 2, y + 2);
    pen.lineTo(x + side - 2, y + side - 2);
    pen.moveTo(x + side - 2, y + 2);
    pen.lineTo(x + 2, y + side - 2);
    pen.stroke();
  }
  if (failedOver) {
    pen.save();
    pen.beginPath();
    // The number below stays legible where there is one.
    pen.rect(x, y, side, side >= 26 ? side * 0.56 : side);
    pen.clip();
    pen.strokeStyle = paints.mark;
    pen.lineWidth = side >= 18 ? 2 : 1;
    const gap = side >= 18 ? 6 : 4;
    pen.beginPath();
    for (let at = -side; at < side; at += gap) {
      pen.moveTo(x + at, y + side);
      pen.lineTo(x + at + side, y);
    }
    pen.stroke();
    pen.restore();
  }
  if (state === "R" && failedOver) {
    // A ground of its own, or it would be lost among the hatching.
    pen.fillStyle = paints.owners[map.owner[item] ?? -1] ?? paints.muted;
    pen.fillRect(x + side * 0.24, y, side * 0.52, side >= 26 ? side * 0.57 : side);
  }
  if (state === "R") play(pen, paints, x, y, side);
  if (moving) {
    const size = Math.max(3, side / 3);
    pen.fillStyle = paints.text;
    pen.beginPath();
    pen.moveTo(x + side - size, y);
    pen.lineTo(x + side, y);
    pen.lineTo(x + side, y + size);
    pen.fill();
  }
}

/** A triangle, as on a player; with its own ground, so that it shows on hatching too. */
function play(pen: CanvasRenderingContext2D, paints: Paints, x: number, y: number, side: number): void {
  const size = side >= 26 ? side * 0.34 : side * 0.56;
  const left = x + (side - size) / 2 + size * 0.08;
  const top = side >= 26 ? y + side * 0.14 : y + (side - size) / 2;
  pen.fillStyle = paints.mark;
  pen.strokeStyle = "rgb(0 0 0 / 35%)";
  pen.lineWidth = side >= 12 ? 1 : 0;
  pen.beginPath();
  pen.moveTo(left, top);
  pen.lineTo(left + size * 0.9, top + size / 2);
  pen.lineTo(left, top + size);
  pen.closePath();
  if (side >= 12) pen.stroke();
  pen.fill();
}

function outline(pen: CanvasRenderingContext2D, drawn: Drawn, item: number, width: number): void {
  const { layout, paints } = drawn;
  const x = (item % layout.columns) * layout.pitch;
  const y = Math.floor(item / layout.columns) * layout.pitch;
  pen.strokeStyle = paints.text;
  pen.lineWidth = width;
  pen.strokeRect(x - 0.5, y - 0.5, layout.cell + 1, layout.cell + 1);
}
