import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../../api/client";
import type { Statistics } from "../../api/types";
import { Shape, STATUS_TONES } from "../../components/Badge";
import { common } from "../../i18n/common";
import { fleet } from "../../i18n/fleet";
import { useWords } from "../../i18n/language";
import { keys } from "../../live/live";
import type { FleetAsked } from "./useFleet";

const STATUSES = ["OK", "SHARDING_FLAG", "DISABLED", "CRASHED"] as const;

interface Props {
  registry: string;
  status: FleetAsked["status"];
  onStatus: (status: FleetAsked["status"]) => void;
}

/** How much there is of everything; pressing a status shows only those. */
export function Tiles({ registry, status, onStatus }: Props) {
  const w = useWords(fleet);
  const c = useWords(common);
  const { data } = useQuery({
    queryKey: keys.statistics(registry),
    queryFn: () => answer(api.GET("/api/r/{registry}/statistics", { params: { path: { registry } } })),
  });
  return (
    <div className="tiles">
      <button type="button" className="tile" aria-pressed={status === ""} onClick={() => onStatus("")}>
        <span className="value">{number(data?.jobs)}</span>
        <span className="name">{w.jobs}</span>
      </button>
      {STATUSES.map((each) => (
        <button
          key={each}
          type="button"
          className={`tile toned ${STATUS_TONES[each]}`}
          aria-pressed={status === each}
          onClick={() => onStatus(status === each ? "" : each)}
        >
          <span className="value">{number(data && (data.by_status[each] ?? 0))}</span>
          <span className="name">
            <Shape tone={STATUS_TONES[each]} />
            {c.statuses[each]}
          </span>
        </button>
      ))}
      <Plain data={data} w={w} />
    </div>
  );
}

function Plain({ data, w }: { data: Statistics | undefined; w: (typeof fleet)["en"] }) {
  const tiles = [
    [w.servers, data?.servers],
    [w.instances, data?.instances],
    [w.shards, data?.shards],
    [w.running, data?.running],
  ] as const;
  return tiles.map(([name, value]) => (
    <div className="tile" key={name}>
      <span className="value">{number(value)}</span>
      <span className="name">{name}</span>
    </div>
  ));
}

function number(value: number | undefined): string {
  return value === undefined ? "–" : value.toLocaleString("en");
}
