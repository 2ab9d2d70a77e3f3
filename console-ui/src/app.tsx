// The page as a whole: who is here, and which page they look at.

import { lazy, Suspense, useEffect } from "react";
import { Link, Redirect, Route, Router, Switch } from "wouter";
import { SessionProvider, useAbout } from "./api/session";
import type { Session } from "./api/types";
import { ConfirmProvider } from "./components/Confirm";
import { EmptyState, Loading } from "./components/States";
import { ToastProvider } from "./components/Toast";
import { common } from "./i18n/common";
import { locale, useLanguage, useWords } from "./i18n/language";
import { shell } from "./i18n/shell";
import { part, unpart, useHash } from "./lib/place";
import { Boundary } from "./shell/Boundary";
import { registryAt, registryNamed, useRegistry } from "./shell/registry";
import { Shell } from "./shell/Shell";

const LoginPage = lazy(() => import("./pages/login"));
const FleetPage = lazy(() => import("./pages/fleet"));
const JobPage = lazy(() => import("./pages/job"));
const ServersPage = lazy(() => import("./pages/servers"));
const HistoryPage = lazy(() => import("./pages/history"));
const RecipesPage = lazy(() => import("./pages/recipes"));
const TreePage = lazy(() => import("./pages/registry"));
const AuditPage = lazy(() => import("./pages/audit"));
const DoctorPage = lazy(() => import("./pages/doctor"));
const HelpPage = lazy(() => import("./pages/help"));
const UsersPage = lazy(() => import("./pages/users"));

export function App() {
  const language = useLanguage();
  useEffect(() => {
    document.documentElement.lang = locale(language);
  }, [language]);
  return (
    <ToastProvider>
      <ConfirmProvider>
        <Router hook={useHash}>
          <Suspense fallback={<Loading />}>
            <Entry />
          </Suspense>
        </Router>
      </ConfirmProvider>
    </ToastProvider>
  );
}

function Entry() {
  const about = useAbout();
  const c = useWords(common);
  if (!about.data) return about.failureCount > 0 ? <EmptyState title={c.mustWait} /> : <Loading />;
  const { session } = about.data;
  // Whoever came by the one-time token has first to make an account, which the login page sees to.
  if (!session || session.first) return <LoginPage />;
  if (session.registries.length === 0 && !session.admin) return <Nowhere />;
  return <Inside session={session} />;
}

function Nowhere() {
  const w = useWords(shell);
  return <EmptyState title={w.noRegistry}>{w.noRegistryWhy}</EmptyState>;
}

function Inside({ session }: { session: Session }) {
  const [place] = useHash();
  const w = useWords(shell);
  const c = useWords(common);
  if (!registryAt(place, session.registries)) return <NoSuchRegistry session={session} place={place} />;
  const job = /^\/r\/[^/]+\/jobs\/([^/]+)/.exec(place)?.[1];
  return (
    <SessionProvider session={session}>
      <Shell job={job === undefined ? undefined : unpart(job)}>
        <Boundary key={place.split("/").slice(0, 5).join("/")} title={w.broken} again={c.tryAgain}>
          <Suspense fallback={<Loading />}>
            <Pages />
          </Suspense>
        </Boundary>
      </Shell>
    </SessionProvider>
  );
}

/** Nothing of a registry is around it: the one that was meant is not there. */
function NoSuchRegistry({ session, place }: { session: Session; place: string }) {
  const w = useWords(shell);
  return (
    <main className="main">
      <EmptyState title={w.noSuchRegistry(registryNamed(place) ?? "")}>
        <p>{w.noSuchRegistryWhy}</p>
        <ul className="stack">
          {session.registries.map(({ name }) => (
            <li key={name}>
              <Link href={`/r/${part(name)}/jobs`}>{name}</Link>
            </li>
          ))}
        </ul>
      </EmptyState>
    </main>
  );
}

function Pages() {
  const { to } = useRegistry();
  return (
    <Switch>
      <Route path="/">
        <Redirect to={to("jobs")} replace />
      </Route>
      <Route path="/r/:registry/jobs/:job/:tab?">
        {({ job, tab }) => <JobPage key={job} job={unpart(job)} tab={tab} />}
      </Route>
      <Route path="/r/:registry/jobs">
        <FleetPage />
      </Route>
      <Route path="/r/:registry/servers/:address?">
        <ServersPage />
      </Route>
      <Route path="/r/:registry/history">
        <HistoryPage />
      </Route>
      <Route path="/r/:registry/recipes">
        <RecipesPage />
      </Route>
      <Route path="/r/:registry/tree">
        <TreePage />
      </Route>
      <Route path="/r/:registry/audit">
        <AuditPage />
      </Route>
      <Route path="/r/:registry/doctor">
        <DoctorPage />
      </Route>
      <Route path="/r/:registry/help">
        <HelpPage />
      </Route>
      <Route path="/users">
        <UsersPage />
      </Route>
      <Route>
        <Lost />
      </Route>
    </Switch>
  );
}

function Lost() {
  const w = useWords(shell);
  const { to } = useRegistry();
  return (
    <EmptyState title={w.nothingHere}>
      {w.nothingHereWhy} <Link href={to("jobs")}>{w.toFleet}</Link>
    </EmptyState>
  );
}
