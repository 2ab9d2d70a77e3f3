// One server: its jobs, and the instances that are there.

import { useState } from "react";
import { Link } from "wouter";
import { answer, api } from "../../api/client";
import type { ServerPage as Found, Member, ServerJob } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Menu } from "../../components/Menu";
import { Search } from "../../components/Search";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { useWords } from "../../i18n/language";
import { servers as words } from "../../i18n/servers";
import { useRested } from "../../lib/late";
import { usePaged } from "../../lib/paged";
import { useAsked } from "../../lib/place";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";
import { DumpDialog } from "./DumpDialog";
import { ServerActions } from "./ServerActions";
import { State } from "./ServerList";
import "./servers.css";

const PAGE = 100;

type ServerMember = Member & { job: string };

export function ServerPage({ address }: { address: string }) {
  const t = useWords(words);
  const { name: registry, to } = useRegistry();
  const [asked, ask] = useAsked();
  const search = asked.search ?? "";
  const rested = useRested(search);
  const found = usePaged<ServerJob, Found>({
    size: PAGE,
    key: (page) => [registry, "servers", address, { search: rested }, page],
    fetch: (page) => fetchPage(registry, address, rested, page),
    rows: (page) => page.found,
    refetchInterval: 5000,
  });
  const [dumped, setDumped] = useState<string | null>(null);
  const server = found.last?.server;
  const jobs = Array.from({ length: found.total }, (_, index) => found.at(index)).filter((each) => !!each);
  const left = found.total - jobs.length;
  const members = jobs.flatMap(({ job, members }) => members.map((each) => ({ ...each, job })));
  return (
    <div className="page">
      <header>
        <div>
          <Link href={to("servers")}>← {t.back}</Link>
          <div className="row">
            <h1 className="mono">{address}</h1>
            {server && <State server={server} />}
          </div>
        </div>
        {server && <ServerActions server={server} buttons />}
      </header>
      {found.error && <TroubleNote error={found.error} />}
      {found.pending && !found.error && <Loading />}
      {server && (
        <>
          <section className="stack" aria-labelledby="jobs-there">
            <h2 id="jobs-there">{t.onServer}</h2>
            {(server.jobs > PAGE || search) && (
              <div className="search">
                <Search label={t.searchJob} value={search} onChange={(text) => ask({ search: text })} />
              </div>
            )}
            {jobs.length === 0 && <EmptyState title={t.noJobMatch(rested)} />}
            {jobs.length > 0 && <JobTable address={address} jobs={jobs} onDump={setDumped} />}
            {left > 0 && (
              <Button onClick={() => found.onRange(0, jobs.length + PAGE - 1)}>
                {t.more(Math.min(left, PAGE), left)}
              </Button>
            )}
          </section>
          <section className="stack" aria-labelledby="members-there">
            <h2 id="members-there">{t.members}</h2>
            {members.length === 0 ? <EmptyState title={t.noMembers} /> : <MemberTable members={members} />}
          </section>
        </>
      )}
      {dumped !== null && <DumpDialog job={dumped} onClose={() => setDumped(null)} />}
    </div>
  );
}

function fetchPage(registry: string, address: string, search: string, page: number): Promise<Found> {
  const query = { offset: page * PAGE, limit: PAGE, ...(search && { search }) };
  const params = { path: { registry, address }, query };
  return answer(api.GET("/api/r/{registry}/servers/{address}", { params }));
}

interface JobsProps {
  address: string;
  jobs: ServerJob[];
  onDump: (job: string) => void;
}

function JobTable({ address, jobs, onDump }: JobsProps) {
  const t = useWords(words);
  const { to } = useRegistry();
  return (
    <div className="table-wrap">
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t.job}</th>
            <th scope="col">{t.status}</th>
            <th scope="col" className="end">
              {t.instances}
            </th>
            <th scope="col">
              <span className="visually-hidden">{t.actions(address)}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((each) => (
            <tr key={each.job}>
              <th scope="row" className="name">
                <Link href={to("jobs", each.job)}>{each.job}</Link>
              </th>
              <td>
                {each.status === "DISABLED" ? (
                  <Badge tone="off">{t.jobDisabled}</Badge>
                ) : (
                  <Badge tone="ok">{t.ok}</Badge>
                )}
              </td>
              <td className="end">{each.instances}</td>
              <td>
                <div className="row end-row">
                  <Button kind="quiet" small onClick={() => onDump(each.job)}>
                    {t.dump}
                  </Button>
                  <JobActions address={address} job={each} />
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What can be done to one job on this server. */
function JobActions({ address, job: there }: { address: string; job: ServerJob }) {
  const t = useWords(words);
  const { name: registry, may } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  if (!may("operator")) return null;
  const { job, instances } = there;
  const params = { path: { registry, job } };
  const body = { server: address };

  const enable = () => act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/enable", { params, body })));
  const disable = async () => {
    const asked = { title: t.askDisableJob(job, address), body: t.askDisableJobText(job), action: t.disable };
    if (!(await confirm(asked))) return;
    await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/disable", { params, body })));
  };
  const shutdown = async () => {
    const asked = { title: t.askShutdownJob(job, address), body: t.askShutdownJobText(instances) };
    if (!(await confirm({ ...asked, action: t.shutdown, danger: true }))) return;
    await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/shutdown", { params, body })));
  };

  const items = [
    there.status === "DISABLED"
      ? { title: t.enable, onChoose: enable }
      : { title: t.disable, onChoose: disable },
    ...(instances > 0 ? [{ title: t.shutdown, onChoose: shutdown, danger: true }] : []),
  ];
  return <Menu small icon="more" label={t.actions(job)} items={items} />;
}

function MemberTable({ members }: { members: ServerMember[] }) {
  const t = useWords(words);
  const { to } = useRegistry();
  return (
    <div className="table-wrap">
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t.instance}</th>
            <th scope="col">{t.job}</th>
            <th scope="col">{t.kind}</th>
            <th scope="col">{t.state}</th>
            <th scope="col" className="end">
              {t.owns}
            </th>
            <th scope="col" className="end">
              {t.runs}
            </th>
            <th scope="col">
              <span className="visually-hidden">{t.actions("")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((each) => (
            <tr key={`${each.job} ${each.id}`}>
              <th scope="row" className="mono name">
                {each.id}
              </th>
              <td className="name">
                <Link href={to("jobs", each.job)}>{each.job}</Link>
              </td>
              <td>{each.python ? t.python : t.java}</td>
              <td>
                <div className="row">
                  {each.alive ? <Badge tone="ok">{t.alive}</Badge> : <Badge tone="bad">{t.dead}</Badge>}
                  {each.draining && <Badge tone="warn">{t.draining}</Badge>}
                  {each.leader && <Badge tone="odd">{t.leader}</Badge>}
                </div>
              </td>
              <td className="end">{each.owns}</td>
              <td className="end">{each.runs}</td>
              <td className="end">
                <MemberActions member={each} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function MemberActions({ member }: { member: ServerMember }) {
  const t = useWords(words);
  const { name: registry, may } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  if (!may("operator")) return null;
  const { id: instance, job } = member;
  const params = { path: { registry, job } };
  const body = { instance };

  const drain = () => act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/drain", { params, body })));
  const undrain = () => act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/undrain", { params, body })));
  const shutdown = async () => {
    const asked = { title: t.askShutdownOne, body: t.askShutdownOneText(instance, job), action: t.shutdown };
    if (!(await confirm({ ...asked, danger: true }))) return;
    await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/shutdown", { params, body })));
  };

  const items = [
    member.draining ? { title: t.undrain, onChoose: undrain } : { title: t.drain, onChoose: drain },
    { title: t.shutdown, onChoose: shutdown, danger: true },
  ];
  return <Menu small icon="more" label={t.actions(`${instance} (${job})`)} items={items} />;
}
