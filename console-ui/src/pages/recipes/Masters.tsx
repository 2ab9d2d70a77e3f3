// The masters of services, and another one chosen by hand.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../../api/client";
import type { Mastery } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Field } from "../../components/Field";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { useWords } from "../../i18n/language";
import { recipes as words } from "../../i18n/recipes";
import { useAsked } from "../../lib/place";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";

const ROOT = "/soa/master";

export function Masters() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const root = asked.root || ROOT;
  const [typed, setTyped] = useState(root);
  const found = useQuery({
    queryKey: [registry, "masters", root],
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/masters", { params: { path: { registry }, query: { root } } })),
    refetchInterval: 2000,
  });
  const services = found.data?.services ?? [];
  return (
    <section className="card stack" aria-labelledby="masters-title">
      <header>
        <div>
          <h2 id="masters-title">{t.masters}</h2>
          <p className="muted">{t.mastersAbout}</p>
        </div>
        <form
          className="row named"
          onSubmit={(event) => {
            event.preventDefault();
            ask({ root: typed === ROOT ? "" : typed });
          }}
        >
          <Field label={t.root}>
            {(props) => (
              <input
                {...props}
                className="input mono"
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
              />
            )}
          </Field>
          <Button type="submit">{t.show}</Button>
        </form>
      </header>
      {found.isPending && <Loading />}
      {found.error && <TroubleNote error={found.error} />}
      {found.data && services.length === 0 && <EmptyState title={t.noMasters(root)} />}
      {services.length > 0 && (
        <div className="table-wrap">
          <table className="plain">
            <thead>
              <tr>
                <th scope="col">{t.service}</th>
                <th scope="col">{t.master}</th>
                <th scope="col" className="end" title={t.tokenHelp}>
                  {t.token}
                </th>
                <th scope="col">{t.candidates}</th>
                <th scope="col">
                  <span className="visually-hidden">{t.resign}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {services.map((each) => (
                <Service key={each.service} service={each} root={root} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Service({ service: known, root }: { service: Mastery; root: string }) {
  const t = useWords(words);
  const { name: registry, may } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  const { service, master, candidates } = known;
  const others = candidates.filter((each) => each !== master);
  const params = { path: { registry, service }, query: { root } };

  const designate = async (address: string) => {
    const body = t.askDesignateText(master ?? "–");
    if (!(await confirm({ title: t.askDesignate(address, service), body, action: t.designate }))) return;
    await act(() =>
      answer(api.POST("/api/r/{registry}/masters/{service}/designate", { params, body: { address } })),
    );
  };
  const resign = async () => {
    const asked = { title: t.askResign(master ?? ""), body: t.askResignText(service), action: t.resign };
    if (!(await confirm(asked))) return;
    await act(() => answer(api.POST("/api/r/{registry}/masters/{service}/resign", { params })));
  };

  return (
    <tr>
      <th scope="row">{service}</th>
      <td>
        {master === null ? (
          <Badge tone="warn">{t.vacant}</Badge>
        ) : (
          <Badge tone="ok">
            <span className="mono">{master}</span>
          </Badge>
        )}
      </td>
      <td className="end">{known.token ?? "–"}</td>
      <td>
        <ul className="candidates">
          {candidates.map((each) => (
            <li key={each} className="row">
              <span className="mono">{each}</span>
              {each !== master && master !== null && may("operator") && (
                <Button
                  kind="quiet"
                  small
                  aria-label={t.designateOne(each, service)}
                  onClick={() => designate(each)}
                >
                  {t.designate}
                </Button>
              )}
            </li>
          ))}
        </ul>
      </td>
      <td className="end">
        {master !== null && others.length > 0 && may("operator") && (
          <Button small aria-label={t.resignOne(service)} onClick={resign}>
            {t.resign}
          </Button>
        )}
      </td>
    </tr>
  );
}
