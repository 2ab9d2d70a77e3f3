// Doctor: what is not as it should be, why that matters, and what can be done about it.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { answer, api } from "../../api/client";
import type { Cost, Finding } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { PageHead } from "../../components/PageHead";
import { Loading, TroubleNote } from "../../components/States";
import { doctor as words } from "../../i18n/doctor";
import { useWords } from "../../i18n/language";
import { useAsked, withAsked } from "../../lib/place";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";
import { size } from "./size";
import "./doctor.css";

export default function Doctor() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const found = useQuery({
    queryKey: [registry, "doctor"],
    queryFn: () => answer(api.GET("/api/r/{registry}/doctor", { params: { path: { registry } } })),
  });
  const findings = found.data?.findings ?? [];
  const troubles = findings.filter((each) => each.severity === "trouble");
  const shown = asked.only === "trouble" ? troubles : findings;
  return (
    <div className="page">
      <PageHead title={t.title} about={t.about}>
        <Button icon="refresh" disabled={found.isFetching} onClick={() => found.refetch()}>
          {found.isFetching ? t.examining : t.again}
        </Button>
      </PageHead>
      {found.isPending && <Loading />}
      {found.error && <TroubleNote error={found.error} again={() => found.refetch()} />}
      {found.data && (
        <>
          <Verdict troubles={troubles.length} notices={findings.length - troubles.length} />
          {troubles.length > 0 && findings.length > troubles.length && (
            <div className="row">
              <Button small aria-pressed={asked.only !== "trouble"} onClick={() => ask({ only: "" })}>
                {t.all}
              </Button>
              <Button small aria-pressed={asked.only === "trouble"} onClick={() => ask({ only: "trouble" })}>
                {t.onlyTrouble}
              </Button>
            </div>
          )}
          {shown.length > 0 && (
            <ul className="findings" aria-label={t.findings}>
              {shown.map((finding) => (
                <li key={`${finding.kind} ${finding.where} ${finding.what}`}>
                  <One finding={finding} />
                </li>
              ))}
            </ul>
          )}
          <Costs costs={found.data.costs} />
        </>
      )}
    </div>
  );
}

function Verdict({ troubles, notices }: { troubles: number; notices: number }) {
  const t = useWords(words);
  if (troubles > 0) {
    return (
      <p className="note bad" role="status">
        {troubles === 1 ? t.sickOne : t.sick(troubles)}
      </p>
    );
  }
  return (
    <p className="note ok" role="status">
      {notices > 0 ? t.healthyNotices(notices) : t.healthy}
    </p>
  );
}

function One({ finding }: { finding: Finding }) {
  const t = useWords(words);
  const { to } = useRegistry();
  return (
    <article className={`card finding ${finding.severity}`}>
      <header>
        <div className="row">
          {finding.severity === "trouble" ? (
            <Badge tone="bad">{t.trouble}</Badge>
          ) : (
            <Badge tone="warn">{t.notice}</Badge>
          )}
          {finding.job && (
            <Link className="about" href={to("jobs", finding.job)}>
              {finding.job}
            </Link>
          )}
        </div>
        <Remedy finding={finding} />
      </header>
      <p className="what">{sentence(finding.what)}</p>
      <dl className="facts">
        <dt>{t.why}</dt>
        <dd>{finding.why}</dd>
        <dt>{t.advice}</dt>
        <dd>{finding.advice}</dd>
        <dt>{t.where}</dt>
        <dd className="mono">
          <Link href={withAsked(to("tree"), { path: finding.where })} title={t.openNode}>
            {finding.where}
          </Link>
        </dd>
      </dl>
    </article>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Remedy({ finding }: { finding: Finding }) {
  const t = useWords(words);
  const { name: registry, may } = useRegistry();
  const act = useAct();
  const confirm = useConfirm();
  if (!finding.repairable || !may("operator")) return null;
  const { kind, job, where, what, advice } = finding;
  const repair = async () => {
    if (!(await confirm({ title: t.askRepair, body: t.askRepairText(advice), action: t.repair }))) return;
    await act(() =>
      answer(
        api.POST("/api/r/{registry}/doctor/repair", {
          params: { path: { registry } },
          body: { kind, job, where },
        }),
      ),
    );
  };
  return (
    <Button small aria-label={t.repairOne(what)} onClick={repair}>
      {t.repair}
    </Button>
  );
}

function Costs({ costs }: { costs: readonly Cost[] }) {
  const t = useWords(words);
  const { to } = useRegistry();
  if (costs.length === 0) return null;
  return (
    <section className="stack" aria-labelledby="costs-title">
      <h2 id="costs-title">{t.costs}</h2>
      <div className="table-wrap costs">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{t.job}</th>
              <th scope="col" className="end">
                {t.nodes}
              </th>
              <th scope="col" className="end">
                {t.bytes}
              </th>
            </tr>
          </thead>
          <tbody>
            {costs.slice(0, 100).map((cost) => (
              <tr key={cost.job}>
                <th scope="row" className="about">
                  <Link href={to("jobs", cost.job)}>{cost.job}</Link>
                </th>
                <td className="end">{cost.nodes}</td>
                <td className="end" title={`${cost.bytes} B`}>
                  {size(cost.bytes)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
