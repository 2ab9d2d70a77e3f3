// What the stream tells, put into what is shown already.

import type { Fleet, JobChanged, JobPage, JobRow, JobsChanged, LiveRow } from "../api/types";

/** How many fires the line of lateness goes back. */
export const FIRES = 20;

/** A page of the fleet with the jobs that changed; the same page where none of them is on it. */
export function patchFleet(page: Fleet, event: Pick<JobsChanged, "changed" | "gone">): Fleet {
  const changed = new Map(event.changed.map((row) => [row.name, row]));
  const gone = new Set(event.gone);
  let touched = false;
  const jobs: JobRow[] = [];
  for (const row of page.jobs) {
    const now = changed.get(row.name);
    touched ||= now !== undefined || gone.has(row.name);
    if (gone.has(row.name)) continue;
    jobs.push(now ? patchRow(row, now) : row);
  }
  if (!touched) return page;
  return { ...page, jobs, total: page.total - (page.jobs.length - jobs.length) };
}

/** A job as it is now. What is told may be behind what was fetched: its last fire is never an earlier one again. */
function patchRow(row: JobRow, now: LiveRow): JobRow {
  if (!now.last || (row.last && Date.parse(now.last.due) < Date.parse(row.last.due))) {
    return { ...row, ...now, last: row.last };
  }
  const before = now.last.fire === row.last?.fire ? row.late.slice(0, -1) : row.late;
  return { ...row, ...now, late: [...before, now.last.late].slice(-FIRES) };
}

/** What a page of the fleet was asked for. */
interface Asked {
  status?: string | undefined;
  outcome?: string | undefined;
  search?: string | undefined;
  sort?: string | undefined;
}

/** Whether a page has to be fetched anew: jobs came or went, or one changed by which it is sorted or filtered. */
export function isOutdated(
  page: Fleet,
  event: Pick<JobsChanged, "changed" | "gone" | "many" | "statistics">,
  asked: Asked,
): boolean {
  if (event.many || event.gone.length > 0) return true;
  const filtered = Boolean(asked.status || asked.outcome || asked.search);
  if (!filtered && page.total !== event.statistics.jobs) return true;
  const here = new Map(page.jobs.map((row) => [row.name, row]));
  return event.changed.some((row) => {
    const before = here.get(row.name);
    // Of one that is not here nobody can tell whether it stands on another page, or fits only now.
    if (filtered && fits(row, asked) !== (before !== undefined)) return true;
    if (!before) return false;
    if (asked.sort === "status") return row.status !== before.status;
    if (asked.sort === "next") return row.next_fires[0] !== before.next_fires[0];
    if (asked.sort === "shards") return row.shards !== before.shards;
    if (asked.sort === "late") return row.last?.late !== before.last?.late;
    return false;
  });
}

/** Whether a job is one of those that are asked for, as the console itself finds them. */
function fits(row: LiveRow, { status, outcome, search }: Asked): boolean {
  if (status && row.status !== status) return false;
  if (outcome && row.last?.outcome !== outcome) return false;
  const text = `${row.name}\n${row.description}`.toLowerCase();
  const words = (search ?? "").toLowerCase().split(/\s+/);
  return words.every((word) => text.includes(word));
}

/** A job's page with what changed. */
export function patchJob(page: JobPage, event: JobChanged): JobPage {
  return {
    ...page,
    brief: event.brief,
    leader: event.leader,
    members: event.members,
    draining: event.members.filter((member) => member.draining).map((member) => member.id),
    running: [...event.map.state].filter((state) => state === "R").length,
  };
}
