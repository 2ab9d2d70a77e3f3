// All servers, with what they carry and what can be done to each.

import { Link } from "wouter";
import { answer, api } from "../../api/client";
import type { Server, Servers } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { PageHead } from "../../components/PageHead";
import { Search } from "../../components/Search";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { useWords } from "../../i18n/language";
import { servers as words } from "../../i18n/servers";
import { useRested } from "../../lib/late";
import { usePaged } from "../../lib/paged";
import { useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";
import { ServerActions } from "./ServerActions";
import "./servers.css";

const PAGE = 100;

export function ServerList() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const search = asked.search ?? "";
  const rested = useRested(search);
  const found = usePaged<Server, Servers>({
    size: PAGE,
    key: (page) => [registry, "servers", { search: rested }, page],
    fetch: (page) => fetchPage(registry, rested, page),
    rows: (page) => page.servers,
    refetchInterval: 5000,
  });
  const shown = Array.from({ length: found.total }, (_, index) => found.at(index)).filter((each) => !!each);
  const left = found.total - shown.length;
  return (
    <div className="page">
      <PageHead title={t.title} about={t.about} />
      <div className="filters">
        <div className="search">
          <Search label={t.search} value={search} onChange={(text) => ask({ search: text })} />
        </div>
      </div>
      {found.error && <TroubleNote error={found.error} />}
      {found.pending && !found.error && <Loading />}
      {!found.pending && found.total === 0 && <EmptyState title={rested ? t.noMatch(rested) : t.none} />}
      {shown.length > 0 && <Table servers={shown} />}
      {left > 0 && (
        <Button onClick={() => found.onRange(0, shown.length + PAGE - 1)}>
          {t.more(Math.min(left, PAGE), left)}
        </Button>
      )}
    </div>
  );
}

function fetchPage(registry: string, search: string, page: number): Promise<Servers> {
  const query = { offset: page * PAGE, limit: PAGE, ...(search && { search }) };
  return answer(api.GET("/api/r/{registry}/servers", { params: { path: { registry }, query } }));
}

function Table({ servers }: { servers: Server[] }) {
  const t = useWords(words);
  const most = Math.max(1, ...servers.map((each) => each.owns));
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
              <td className="end">{server.jobs}</td>
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
  const total = server.jobs;
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
