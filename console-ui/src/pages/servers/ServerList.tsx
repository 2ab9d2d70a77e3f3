// All servers, with what they carry and what can be done to each.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { answer, api } from "../../api/client";
import type { Server } from "../../api/types";
import { Badge } from "../../components/Badge";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { useWords } from "../../i18n/language";
import { servers as words } from "../../i18n/servers";
import { useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";
import { ServerActions } from "./ServerActions";
import "./servers.css";

export function ServerList() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const found = useQuery({
    queryKey: [registry, "servers"],
    queryFn: () => answer(api.GET("/api/r/{registry}/servers", { params: { path: { registry } } })),
    refetchInterval: 5000,
  });
  const search = asked.search ?? "";
  const all = found.data?.servers ?? [];
  const shown = all.filter((each) => fits(each, search));
  const most = Math.max(1, ...all.map((each) => each.owns));
  return (
    <div className="page">
      <header>
        <div>
          <h1>{t.title}</h1>
          <p>{t.about}</p>
        </div>
      </header>
      <div className="filters">
        <div className="search">
          <input
            type="search"
            className="input"
            aria-label={t.search}
            placeholder={t.search}
            value={search}
            onChange={(event) => ask({ search: event.target.value })}
          />
        </div>
      </div>
      {found.error && <TroubleNote error={found.error} />}
      {found.isPending && <Loading />}
      {found.data && shown.length === 0 && <EmptyState title={search ? t.noMatch(search) : t.none} />}
      {shown.length > 0 && <Table servers={shown} most={most} />}
    </div>
  );
}

function fits(server: Server, search: string): boolean {
  const text = search.trim().toLowerCase();
  return !text || [server.address, ...server.jobs].some((each) => each.toLowerCase().includes(text));
}

function Table({ servers, most }: { servers: Server[]; most: number }) {
  const t = useWords(words);
  const { to } = useRegistry();
  return (
    <div className="table-wrap">
      <table className="plain">
        <caption className="visually-hidden">{t.title}</caption>
        <thead>
          <tr>
            <th scope="col">{t.server}</th>
            <th scope="col">{t.state}</th>
            <th scope="col" className="end">
              {t.instances}
            </th>
            <th scope="col" className="end">
              {t.jobs}
            </th>
            <th scope="col">{t.load}</th>
            <th scope="col">
              <span className="visually-hidden">{t.actions("")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {servers.map((server) => (
            <tr key={server.address}>
              <th scope="row" className="mono">
                <Link href={to("servers", server.address)}>{server.address}</Link>
              </th>
              <td>
                <State server={server} />
              </td>
              <td className="end">{server.instances}</td>
              <td className="end">{server.jobs.length}</td>
              <td>
                <Load server={server} most={most} />
              </td>
              <td className="end">
                <ServerActions server={server} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function State({ server }: { server: Pick<Server, "instances" | "disabled" | "jobs"> }) {
  const t = useWords(words);
  const total = server.jobs.length;
  if (server.disabled > 0 && server.disabled >= total) return <Badge tone="off">{t.off}</Badge>;
  if (server.instances === 0) return <Badge tone="bad">{t.gone}</Badge>;
  if (server.disabled > 0) return <Badge tone="warn">{t.partly(server.disabled, total)}</Badge>;
  return <Badge tone="ok">{t.up}</Badge>;
}

/** How many shards it has beside those who have most, and how many of them run. */
function Load({ server, most }: { server: Server; most: number }) {
  const t = useWords(words);
  const wide = (many: number) => `${(many / most) * 100}%`;
  return (
    <div className="load" title={t.loadOf(server.owns, server.runs)}>
      <div className="bar" aria-hidden="true">
        <span className="owns" style={{ width: wide(server.owns) }} />
        <span className="runs" style={{ width: wide(Math.min(server.runs, most)) }} />
      </div>
      <span className="nowrap">
        {server.owns} {t.shards}
        {server.runs > 0 && (
          <>
            {" · "}
            <span className="running">
              {server.runs} {t.runningNow}
            </span>
          </>
        )}
      </span>
    </div>
  );
}
