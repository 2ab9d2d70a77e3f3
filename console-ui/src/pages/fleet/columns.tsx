import { Link } from "wouter";
import type { JobRow } from "../../api/types";
import { Badge, OutcomeBadge, StatusBadge } from "../../components/Badge";
import { Schedule } from "../../components/Schedule";
import { Sparkline } from "../../components/Sparkline";
import { Time } from "../../components/Time";
import type { Column } from "../../components/VirtualTable";
import type { common } from "../../i18n/common";
import type { fleet } from "../../i18n/fleet";
import { rests } from "../../lib/rests";
import { length } from "../../lib/times";

type Words = (typeof fleet)["en"];
type Common = (typeof common)["en"];

/** What is told of a job in a line. */
export function columns(w: Words, c: Common, to: (...parts: string[]) => string): Column<JobRow>[] {
  return [
    {
      id: "name",
      title: w.name,
      width: "minmax(112px, 2.2fr)",
      sort: true,
      cell: (job) => (
        <span className="job-name">
          <Link href={to("jobs", job.name)} tabIndex={-1} title={job.description || job.name} className="cut">
            {job.name}
          </Link>
          {job.java && (
            <span title={w.javaWhy} className="tag">
              Java
            </span>
          )}
          {job.trouble && (
            <Badge tone="warn" title={job.trouble}>
              !
            </Badge>
          )}
        </span>
      ),
    },
    {
      id: "status",
      title: c.status,
      width: "122px",
      sort: true,
      cell: (job) => <StatusBadge status={job.status} />,
    },
    {
      id: "schedule",
      title: c.schedule,
      width: "minmax(142px, 1.4fr)",
      wide: true,
      cell: (job) => <Schedule text={job.schedule} none={w.byHand} />,
    },
    {
      id: "shards",
      title: c.shards,
      width: "78px",
      align: "end",
      sort: true,
      wide: true,
      cell: (job) => job.shards?.toLocaleString("en") ?? "–",
    },
    {
      id: "instances",
      title: w.instances,
      width: "104px",
      align: "end",
      wide: true,
      cell: (job) => job.instances,
    },
    {
      id: "next",
      title: w.next,
      width: "90px",
      sort: true,
      cell: (job) =>
        rests(job.status) ? <span className="muted">–</span> : <Time at={job.next_fires[0]} relative />,
    },
    {
      id: "last",
      title: w.last,
      width: "minmax(150px, 1fr)",
      wide: true,
      cell: (job) =>
        job.last ? (
          <span className="last">
            <OutcomeBadge disposition={job.last.disposition} outcome={job.last.outcome} />{" "}
            <span className="muted">
              <Time at={job.last.due} relative />
            </span>
          </span>
        ) : (
          <span className="muted">–</span>
        ),
    },
    {
      id: "late",
      title: w.late,
      width: "112px",
      sort: true,
      wide: true,
      cell: (job) => <Sparkline values={job.late} label={lateness(job.late, w)} />,
    },
  ];
}

function lateness(late: readonly (number | null)[], w: Words): string {
  const known = late.filter((each): each is number => each !== null);
  const last = known.at(-1);
  return last === undefined ? w.noneLate : w.lateSeconds(length(last), length(Math.max(...known)));
}
