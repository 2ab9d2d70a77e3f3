import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { answer, api } from "../../../api/client";
import type { Item, ShardMap } from "../../../api/types";
import { Badge, StateBadge } from "../../../components/Badge";
import { Button } from "../../../components/Button";
import { useConfirm } from "../../../components/Confirm";
import { Loading, TroubleNote } from "../../../components/States";
import { Time } from "../../../components/Time";
import { common } from "../../../i18n/common";
import { job as words } from "../../../i18n/job";
import { locale, useLanguage, useWords } from "../../../i18n/language";
import { withAsked } from "../../../lib/place";
import { local } from "../../../lib/times";
import { keys } from "../../../live/live";
import { useAct } from "../../../shell/act";
import { useRegistry } from "../../../shell/registry";

interface Props {
  name: string;
  item: number;
  map: ShardMap;
  java: boolean;
}

/** One shard: how it is, and what can be done to it. */
export function ShardDetail({ name, item, map, java }: Props) {
  const w = useWords(words).shard;
  const { name: registry } = useRegistry();
  // What the map tells is newer than what was fetched: when it changes, so does the key.
  const seen = `${map.state[item]}${map.owner[item]}${map.running[item]}`;
  const found = useQuery({
    queryKey: [...keys.shards(registry, name), "one", item, seen],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/jobs/{job}/shards", {
          params: { path: { registry, job: name }, query: { offset: item, limit: 1 } },
        }),
      ),
    placeholderData: (before, query) => (query?.queryKey[4] === item ? before : undefined),
  });
  const shard = found.data?.shards[0];
  return (
    <section className="card shard-detail" aria-live="polite" aria-label={w.title(item)}>
      <header>
        <h2>{w.title(item)}</h2>
        {shard && <StateBadge state={shard.state} />}
      </header>
      <TroubleNote error={found.error} again={found.refetch} />
      {found.isPending && (
        <>
          <p className="mono">{map.members[map.owner[item] ?? -1]}</p>
          <Loading />
        </>
      )}
      {shard && (
        <>
          <Facts shard={shard} />
          <Actions name={name} shard={shard} java={java} />
        </>
      )}
    </section>
  );
}

function Facts({ shard }: { shard: Item }) {
  const all = useWords(words);
  const w = all.shard;
  return (
    <dl className="facts">
      <dt>{w.owner}</dt>
      <dd className="mono">
        {shard.owner || <span className="muted">{all.map.nobody}</span>}
        {shard.failover && (
          <>
            {" "}
            <Badge tone="odd">{w.failedOver}</Badge>
          </>
        )}
      </dd>
      {shard.next_owner && (
        <>
          <dt>{w.next}</dt>
          <dd className="mono">{shard.next_owner}</dd>
        </>
      )}
      <dt>{w.parameter}</dt>
      <dd className="mono">{shard.parameter || <span className="muted">–</span>}</dd>
      {shard.running_by && (
        <>
          <dt>{w.runs}</dt>
          <dd>
            {w.since} <Time at={shard.running_since} /> {w.runsOn}{" "}
            <span className="mono">{shard.running_by}</span>
            {shard.attempt > 1 && <>, {w.attempt(shard.attempt)}</>}
          </dd>
        </>
      )}
      <dt>{w.last}</dt>
      <dd>
        {shard.last_fire || shard.last_outcome ? (
          <>
            {shard.last_fire && <Time at={shard.last_fire} />} <Outcome outcome={shard.last_outcome} />
            {shard.last_ended && (
              <span className="muted">
                {" "}
                {w.ended} <Time at={shard.last_ended} />
              </span>
            )}
          </>
        ) : (
          <span className="muted">–</span>
        )}
      </dd>
    </dl>
  );
}

export function Outcome({ outcome }: { outcome: string }) {
  const outcomes: Readonly<Record<string, string>> = useWords(common).outcomes;
  if (!outcome) return null;
  const tone = outcome === "ok" ? "ok" : outcome === "superseded" ? "off" : "bad";
  return <Badge tone={tone}>{outcomes[outcome] ?? outcome}</Badge>;
}

function Actions({ name, shard, java }: { name: string; shard: Item; java: boolean }) {
  const all = useWords(words);
  const w = all.shard;
  const speech = locale(useLanguage());
  const registry = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  const path = { registry: registry.name, job: name };
  const { item } = shard;

  const enable = () =>
    act(() =>
      answer(api.POST("/api/r/{registry}/jobs/{job}/enable", { params: { path }, body: { shard: item } })),
    );
  const disable = async () => {
    if (
      await confirm({ title: w.disableTitle(item), body: w.disableBody, action: w.disable, danger: true })
    ) {
      await act(() =>
        answer(api.POST("/api/r/{registry}/jobs/{job}/disable", { params: { path }, body: { shard: item } })),
      );
    }
  };
  const trigger = () =>
    act(() =>
      answer(
        api.POST("/api/r/{registry}/jobs/{job}/trigger", {
          params: { path },
          body: { shards: [item], parameter: "" },
        }),
      ),
    );
  const rerun = async () => {
    const at = shard.last_fire;
    if (!at) return;
    const body = w.rerunBody(local(Date.parse(at), Date.now(), speech));
    if (await confirm({ title: w.rerunTitle(item), body, action: w.rerun })) {
      await act(() =>
        answer(
          api.POST("/api/r/{registry}/jobs/{job}/rerun", { params: { path }, body: { at, shards: [item] } }),
        ),
      );
    }
  };
  return (
    <div className="row">
      {registry.may("operator") && (
        <>
          <Button small onClick={trigger} why={shard.state === "DISABLED" ? all.map.disabled : undefined}>
            {w.trigger}
          </Button>
          <Button small onClick={rerun} why={java ? all.past.java : shard.last_fire ? undefined : w.noLast}>
            {w.rerun}
          </Button>
          {shard.state === "DISABLED" ? (
            <Button small onClick={enable}>
              {w.enable}
            </Button>
          ) : (
            <Button small kind="danger" onClick={disable}>
              {w.disable}
            </Button>
          )}
        </>
      )}
      {registry.history && (
        <Link
          className="button quiet small"
          href={withAsked(registry.to("history"), { job: name, shard: String(item) })}
        >
          {w.history}
        </Link>
      )}
    </div>
  );
}
