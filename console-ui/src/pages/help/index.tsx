// Help: what is where, and what the words mean. As ElasticJob's console has it.

import type { ReactNode } from "react";
import { Link } from "wouter";
import { useSession } from "../../api/session";
import { StateBadge, StatusBadge } from "../../components/Badge";
import { PageHead } from "../../components/PageHead";
import { common } from "../../i18n/common";
import { help as words } from "../../i18n/help";
import { useWords } from "../../i18n/language";
import { shell } from "../../i18n/shell";
import { useRegistry } from "../../shell/registry";

const PAGES = [
  ["fleet", "jobs"],
  ["servers", "servers"],
  ["history", "history"],
  ["recipes", "recipes"],
  ["tree", "tree"],
  ["audit", "audit"],
  ["doctor", "doctor"],
] as const;
const STATUSES = ["OK", "SHARDING_FLAG", "DISABLED", "CRASHED"] as const;
const STATES = ["PENDING", "RUNNING", "SHARDING_FLAG", "DISABLED"] as const;
const ROLES = ["viewer", "operator", "author", "admin"] as const;
const KEYS = [
  ["Tab", "tab"],
  ["← ↑ → ↓", "arrows"],
  ["Enter", "enter"],
  ["Esc", "escape"],
] as const;

export default function Help() {
  const t = useWords(words);
  const c = useWords(common);
  const pages = useWords(shell).pages;
  const { to } = useRegistry();
  const { admin } = useSession();
  return (
    <div className="page">
      <PageHead title={t.title} about={t.about} />
      <Terms title={t.where}>
        {PAGES.map(([page, path]) => (
          <Term key={page} name={<Link href={to(path)}>{pages[page]}</Link>}>
            {t.pages[page]}
            {page === "fleet" && <p>{t.pages.job}</p>}
          </Term>
        ))}
        {admin && <Term name={<Link href="/users">{pages.users}</Link>}>{t.pages.users}</Term>}
      </Terms>
      <Terms title={t.jobs}>
        {STATUSES.map((status) => (
          <Term key={status} name={<StatusBadge status={status} />}>
            {t.statuses[status]}
          </Term>
        ))}
      </Terms>
      <Terms title={t.shards}>
        {STATES.map((state) => (
          <Term key={state} name={<StateBadge state={state} />}>
            {t.states[state]}
          </Term>
        ))}
      </Terms>
      <Terms title={t.people}>
        {ROLES.map((role) => (
          <Term key={role} name={<strong>{c.roles[role]}</strong>}>
            {t.roles[role]}
          </Term>
        ))}
      </Terms>
      <Terms title={t.keys}>
        {KEYS.map(([key, what]) => (
          <Term key={key} name={<kbd>{key}</kbd>}>
            {t.keyboard[what]}
          </Term>
        ))}
      </Terms>
    </div>
  );
}

function Terms({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card stack">
      <h2>{title}</h2>
      <dl className="facts">{children}</dl>
    </section>
  );
}

function Term({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
