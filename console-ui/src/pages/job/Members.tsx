// Who is in the job, and what can be done to each.

import { Link } from "wouter";
import { answer, api } from "../../api/client";
import type { Member } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { EmptyState } from "../../components/States";
import { common } from "../../i18n/common";
import { job as words } from "../../i18n/job";
import { useWords } from "../../i18n/language";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";
import type { PartProps } from ".";

export function Members({ name, job }: PartProps) {
  const w = useWords(words).members;
  if (job.members.length === 0 && job.servers.length === 0) {
    return <EmptyState title={w.none}>{w.noneWhy}</EmptyState>;
  }
  return (
    <>
      <Processes name={name} job={job} />
      <Servers name={name} job={job} />
    </>
  );
}

function Processes({ name, job }: PartProps) {
  const w = useWords(words).members;
  const c = useWords(common);
  const { may } = useRegistry();
  return (
    <div className="table-wrap">
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{w.process}</th>
            <th scope="col">{c.server}</th>
            <th scope="col">{w.language}</th>
            <th scope="col">{w.state}</th>
            <th scope="col" className="end">
              {w.owns}
            </th>
            <th scope="col" className="end">
              {w.runs}
            </th>
            {may("operator") && <th scope="col">{c.actions}</th>}
          </tr>
        </thead>
        <tbody>
          {job.members.map((member) => (
            <tr key={member.id}>
              <th scope="row" className="mono">
                {member.id}
              </th>
              <td>
                <ServerLink address={member.server} />
              </td>
              <td>{member.python ? "Python" : "Java"}</td>
              <td>
                <MemberState member={member} />
              </td>
              <td className="end">{member.owns.toLocaleString("en")}</td>
              <td className="end">{member.runs.toLocaleString("en")}</td>
              {may("operator") && (
                <td>
                  <MemberActions name={name} member={member} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ServerLink({ address }: { address: string }) {
  const { to } = useRegistry();
  return address ? <Link href={to("servers", address)}>{address}</Link> : <span className="muted">–</span>;
}

function MemberState({ member }: { member: Member }) {
  const w = useWords(words).members;
  return (
    <span className="row">
      {!member.alive ? (
        <Badge tone="bad">{w.gone}</Badge>
      ) : member.draining ? (
        <Badge tone="warn">{w.draining}</Badge>
      ) : (
        <Badge tone="ok">{w.alive}</Badge>
      )}
      {member.leader && <Badge tone="odd">{w.leads}</Badge>}
      {!member.enabled && <Badge tone="off">{w.serverDisabled}</Badge>}
    </span>
  );
}

function MemberActions({ name, member }: { name: string; member: Member }) {
  const w = useWords(words).members;
  const c = useWords(common);
  const { name: registry } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  const options = { params: { path: { registry, job: name } }, body: { instance: member.id } };

  const drain = async () => {
    if (await confirm({ title: w.drainTitle(member.id), body: w.drainBody, action: c.drain })) {
      await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/drain", options)));
    }
  };
  const undrain = () => act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/undrain", options)));
  const shutdown = async () => {
    const question = {
      title: w.shutdownTitle(member.id),
      body: w.shutdownBody,
      action: c.shutdown,
      danger: true,
    };
    if (await confirm(question)) {
      await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/shutdown", options)));
    }
  };
  return (
    <span className="row">
      {member.draining ? (
        <Button small onClick={undrain}>
          {c.undrain}
        </Button>
      ) : (
        <Button small onClick={drain} why={member.python ? undefined : w.javaDrain}>
          {c.drain}
        </Button>
      )}
      <Button small kind="danger" onClick={shutdown} disabled={!member.alive}>
        {c.shutdown}
      </Button>
    </span>
  );
}

/** The servers of the job: it may be disabled on one of them alone. */
function Servers({ name, job }: PartProps) {
  const w = useWords(words).members;
  const c = useWords(common);
  const { name: registry, may } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  if (job.servers.length === 0) return null;

  const set = async (server: string, disable: boolean) => {
    const options = { params: { path: { registry, job: name } }, body: { server } };
    if (!disable) {
      await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/enable", options)));
      return;
    }
    const question = { title: w.disableTitle(server), body: w.disableBody, action: c.disable, danger: true };
    if (await confirm(question)) {
      await act(() => answer(api.POST("/api/r/{registry}/jobs/{job}/disable", options)));
    }
  };
  return (
    <section className="stack">
      <h2>{w.servers}</h2>
      <div className="table-wrap">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{c.server}</th>
              <th scope="col">{w.state}</th>
              <th scope="col" className="end">
                {w.instances}
              </th>
              {may("operator") && <th scope="col">{c.actions}</th>}
            </tr>
          </thead>
          <tbody>
            {job.servers.map((server) => {
              const disabled = server.state === "DISABLED";
              return (
                <tr key={server.address}>
                  <th scope="row">
                    <ServerLink address={server.address} />
                  </th>
                  <td>
                    <Badge tone={disabled ? "off" : "ok"}>
                      {w.serverStates[disabled ? "DISABLED" : "ENABLED"]}
                    </Badge>
                  </td>
                  <td className="end">{server.instances}</td>
                  {may("operator") && (
                    <td>
                      <Button
                        small
                        kind={disabled ? "plain" : "danger"}
                        onClick={() => set(server.address, !disabled)}
                      >
                        {disabled ? c.enable : c.disable}
                      </Button>
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
