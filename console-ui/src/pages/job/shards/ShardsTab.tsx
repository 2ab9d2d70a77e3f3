import { useState } from "react";
import { Loading, TroubleNote } from "../../../components/States";
import { job as words } from "../../../i18n/job";
import { useWords } from "../../../i18n/language";
import { useAsked } from "../../../lib/place";
import type { PartProps } from "..";
import { MapOfShards } from "./Map";
import { ShardDetail } from "./ShardDetail";
import { ShardTable } from "./ShardTable";
import { useShardMap } from "./useShardMap";

/** The shards: a map of all, one in detail, and a table. */
export function ShardsTab({ name, job }: PartProps) {
  const w = useWords(words).map;
  const [asked, ask] = useAsked();
  const [typed, setTyped] = useState("");
  const found = useShardMap(name);
  const map = found.data;
  const total = map?.total ?? 0;
  const wanted = asked.shard === undefined ? Number.NaN : Number(asked.shard);
  const chosen = Number.isInteger(wanted) && wanted >= 0 && wanted < total ? wanted : undefined;
  const choose = (item: number) => {
    ask({ shard: String(item) });
    setTyped("");
  };
  const java = job.members.length > 0 && job.members.every((member) => !member.python);

  if (!map) return found.error ? <TroubleNote error={found.error} again={found.refetch} /> : <Loading />;
  return (
    <>
      <div className="map-and-detail">
        <section className="card" aria-label={w.title}>
          <header>
            <h2>{w.title}</h2>
            <label className="row">
              <span className="muted">{w.goTo}</span>
              <input
                className="input go-to"
                type="number"
                min={0}
                max={Math.max(0, total - 1)}
                value={typed || (chosen ?? "")}
                onChange={(event) => {
                  setTyped(event.target.value);
                  const item = Number(event.target.value);
                  if (event.target.value && Number.isInteger(item) && item >= 0 && item < total) choose(item);
                }}
              />
            </label>
          </header>
          <MapOfShards map={map} chosen={chosen} onChoose={choose} />
        </section>
        {chosen === undefined ? (
          <p className="card muted shard-detail">{w.choose}</p>
        ) : (
          <ShardDetail name={name} item={chosen} map={map} java={java} />
        )}
      </div>
      <ShardTable name={name} onOpen={choose} />
    </>
  );
}
