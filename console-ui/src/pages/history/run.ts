// Which shard of which fire is looked at, as it stands in the address.

import type { Asked } from "../../lib/place";

export interface Run {
  job: string;
  fire: string;
  shard: number;
  /** Of which job of that name; null for the last one that had this fire. */
  made: number | null;
}

export function writeRun({ job, made, fire, shard }: Run): string {
  return JSON.stringify([job, made, fire, shard]);
}

/** The run that is asked for: as a whole, or by job, fire and shard, as other pages lead here. */
export function askedRun(asked: Asked): Run | null {
  if (asked.run) return readRun(asked.run);
  if (!asked.job || !asked.fire) return null;
  return { job: asked.job, fire: asked.fire, shard: Number(asked.shard) || 0, made: null };
}

/** The run again; null for what nobody wrote here. */
function readRun(text: string): Run | null {
  try {
    const [job, made, fire, shard] = JSON.parse(text);
    if (typeof job !== "string" || typeof fire !== "string") return null;
    if (!Number.isSafeInteger(made) || !Number.isSafeInteger(shard)) return null;
    return { job, made, fire, shard };
  } catch {
    return null;
  }
}

/** Whether somebody asked for a fire; otherwise the calendar did. */
export function wasAsked(fire: string): boolean {
  return fire.startsWith("#");
}
