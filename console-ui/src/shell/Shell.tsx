// What is around every page: where one can go, which registry is looked at, who one is, and whether it is live.

import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { sentence } from "../api/client";
import { useAbout, useSession } from "../api/session";
import { Button } from "../components/Button";
import { Icon, type IconName } from "../components/Icon";
import { locale, useLanguage, useWords } from "../i18n/language";
import { shell } from "../i18n/shell";
import { useNow } from "../lib/clock";
import { go, part, useHash } from "../lib/place";
import { local } from "../lib/times";
import { LiveProvider, useLiveState } from "../live/live";
import mark from "../mark.svg";
import { LanguageMenu, ThemeMenu, UserMenu } from "./Menus";
import { useRegistry } from "./registry";

const PAGES: readonly { page: keyof typeof shell.en.pages; path: string; icon: IconName }[] = [
  { page: "fleet", path: "jobs", icon: "fleet" },
  { page: "servers", path: "servers", icon: "servers" },
  { page: "history", path: "history", icon: "history" },
  { page: "recipes", path: "recipes", icon: "recipes" },
  { page: "tree", path: "tree", icon: "tree" },
  { page: "audit", path: "audit", icon: "audit" },
  { page: "doctor", path: "doctor", icon: "doctor" },
];

export function Shell({ job, children }: { job: string | undefined; children: ReactNode }) {
  const registry = useRegistry();
  const w = useWords(shell);
  const [open, setOpen] = useState(false);
  const [place] = useHash();
  const main = useRef<HTMLElement>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever goes elsewhere has chosen
  useEffect(() => setOpen(false), [place]);

  return (
    <LiveProvider registry={registry.name} job={job}>
      <div className="app">
        {/* biome-ignore lint/a11y/useValidAnchor: the hash is the address of the page, so it cannot lead there */}
        <a
          className="skip"
          href="#main"
          onClick={(event) => {
            event.preventDefault();
            main.current?.focus();
          }}
        >
          {w.skip}
        </a>
        <button
          type="button"
          className="shade"
          data-open={open}
          aria-label={w.closeMenu}
          onClick={() => setOpen(false)}
        />
        <Side open={open} />
        <header className="top">
          <Button
            kind="quiet"
            icon="menu"
            className="burger"
            aria-label={w.openMenu}
            aria-expanded={open}
            aria-controls="side"
            onClick={() => setOpen(!open)}
          />
          <RegistrySwitcher />
          <LiveWord />
          <span className="grow" />
          <LanguageMenu />
          <ThemeMenu />
          <UserMenu />
        </header>
        <main className="main" id="main" ref={main} tabIndex={-1}>
          <TroubleBanner />
          {children}
        </main>
      </div>
    </LiveProvider>
  );
}

function Side({ open }: { open: boolean }) {
  const w = useWords(shell);
  const { admin } = useSession();
  const { to } = useRegistry();
  const about = useAbout();
  const [place] = useHash();
  const links = PAGES.map(({ page, path, icon }) => ({ page, icon, href: to(path) }));
  if (admin) links.push({ page: "users", icon: "users", href: "/users" });
  links.push({ page: "help", icon: "help", href: to("help") });
  return (
    <nav className="side" id="side" data-open={open} aria-label={w.main}>
      <Link className="brand" href={to("jobs")}>
        <img src={mark} alt="" width="24" height="24" />
        Shardwright
      </Link>
      <ul>
        {links.map(({ page, icon, href }) => (
          <li key={page}>
            <Link
              href={href}
              aria-current={place === href || place.startsWith(`${href}/`) ? "page" : undefined}
            >
              <Icon name={icon} />
              {w.pages[page]}
            </Link>
          </li>
        ))}
      </ul>
      <div className="foot">{about.data?.version}</div>
    </nav>
  );
}

function RegistrySwitcher() {
  const w = useWords(shell);
  const { registries } = useSession();
  const registry = useRegistry();
  if (registries.length === 1) {
    return (
      <span className="registry" title={registry.address}>
        <span className="visually-hidden">{w.registry}</span>
        <strong className="cut">{registry.name}</strong>
      </span>
    );
  }
  return (
    <label className="registry" title={registry.address}>
      <span className="visually-hidden">{w.registry}</span>
      <select className="input" value={registry.name} onChange={(event) => go(elsewhere(event.target.value))}>
        {registries.map((each) => (
          <option key={each.name} value={each.name}>
            {each.name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The same page in another registry. */
function elsewhere(name: string): string {
  const page = /^#\/r\/[^/]+\/([^/?]+)/.exec(location.hash)?.[1] ?? "jobs";
  return `/r/${part(name)}/${page}`;
}

function LiveWord() {
  const w = useWords(shell);
  const { state } = useLiveState();
  const word = { live: w.live, joining: w.joining, away: w.away }[state];
  return (
    <span className={`live-state ${state}`} title={word} role="status">
      <span className="word">{word}</span>
    </span>
  );
}

/** A stream that breaks off is taken up again within a moment: only then is there something to say. */
const SILENCE = 5000;

function TroubleBanner() {
  const w = useWords(shell);
  const { trouble, silent } = useLiveState();
  const speech = locale(useLanguage());
  const now = useNow();
  const away = silent !== undefined && now - silent > SILENCE;
  if (!trouble && !away) return null;
  return (
    <div className="banner" role="alert">
      {away ? w.consoleAway(local(silent, now, speech)) : sentence(w.registryAway(trouble ?? ""))}
    </div>
  );
}
