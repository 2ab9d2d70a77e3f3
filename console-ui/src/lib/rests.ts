import type { JobRow } from "../api/types";

/** Whether no fire of a job runs as it stands: nobody may take part, or nobody is there. */
export function rests(status: JobRow["status"]): boolean {
  return status === "DISABLED" || status === "CRASHED";
}
