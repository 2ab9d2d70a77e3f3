// Dynamic shardings: who has which slice, and whether a round is open.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../../api/client";
import type { Slices } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Field } from "../../components/Field";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { useWords } from "../../i18n/language";
import { recipes as words } from "../../i18n/recipes";
import { useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";

export function SlicesCard() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const known = useQuery({
    queryKey: [registry, "slices-known"],
    queryFn: () => answer(api.GET("/api/r/{registry}/slices-known", { params: { path: { registry } } })),
  });
  const names = known.data?.names ?? [];
  const chosen = asked.slices || names[0] || "";
  const [typed, setTyped] = useState("");
  return (
    <section className="card stack" aria-labelledby="slices-title">
      <header>
        <div>
          <h2 id="slices-title">{t.slices}</h2>
          <p className="muted">{t.slicesAbout}</p>
        </div>
        <form
          className="row named"
          onSubmit={(event) => {
            event.preventDefault();
            ask({ slices: typed });
          }}
        >
          <Field label={t.name}>
            {(props) => (
              <input
                {...props}
                className="input mono"
                placeholder={chosen}
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
              />
            )}
          </Field>
          <Button type="submit" disabled={!typed}>
            {t.show}
          </Button>
        </form>
      </header>
      {names.length > 1 && (
        <div className="row">
          {names.map((name) => (
            <Button key={name} small aria-pressed={name === chosen} onClick={() => ask({ slices: name })}>
              {name}
            </Button>
          ))}
        </div>
      )}
      {known.isPending && <Loading />}
      {known.error && <TroubleNote error={known.error} />}
      {known.data && !chosen && <EmptyState title={t.noSlices} />}
      {chosen && <Sharding name={chosen} />}
    </section>
  );
}

function Sharding({ name }: { name: string }) {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const found = useQuery({
    queryKey: [registry, "slices", name],
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/slices", { params: { path: { registry }, query: { name } } })),
    refetchInterval: 2000,
    retry: false,
  });
  if (found.isPending) return <Loading />;
  if (found.error) return <TroubleNote error={found.error} again={() => found.refetch()} />;
  const sharding = found.data;
  return (
    <>
      <h3 className="mono">{sharding.name}</h3>
      <dl className="facts">
        <dt>{t.round}</dt>
        <dd>
          {sharding.resharding ? <Badge tone="warn">{t.open}</Badge> : <Badge tone="ok">{t.closed}</Badge>}
        </dd>
        <dt title={t.epochHelp}>{t.epoch}</dt>
        <dd>{sharding.epoch}</dd>
        <dt>{t.leader}</dt>
        <dd className="mono">{sharding.leader ?? "–"}</dd>
        <dt>{t.waiting}</dt>
        <dd className="mono">{sharding.waiting.join(", ") || t.none}</dd>
        {sharding.gone.length > 0 && (
          <>
            <dt>{t.gone}</dt>
            <dd className="mono">{sharding.gone.join(", ")}</dd>
          </>
        )}
      </dl>
      {sharding.holders.length > 0 && <Holders sharding={sharding} />}
    </>
  );
}

function Holders({ sharding }: { sharding: Slices }) {
  const t = useWords(words);
  return (
    <div className="table-wrap holders">
      <table className="plain">
        <thead>
          <tr>
            <th scope="col" className="end">
              {t.slice}
            </th>
            <th scope="col">{t.holder}</th>
          </tr>
        </thead>
        <tbody>
          {sharding.holders.map((holder, slice) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a slice is its number
            <tr key={slice}>
              <th scope="row" className="end">
                {slice}
              </th>
              <td>
                {holder === null ? (
                  <Badge tone="off">{t.nobody}</Badge>
                ) : (
                  <span className="row">
                    <span className="mono">{holder}</span>
                    {sharding.gone.includes(holder) && <Badge tone="bad">{t.isGone}</Badge>}
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
