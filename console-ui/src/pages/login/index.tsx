// Signing in: by name and password, by another's word where that is set up, or by the one-time token, which
// makes the first account.

import { type FormEvent, type ReactNode, useState } from "react";
import { answer, api, HERE, present } from "../../api/client";
import { useAbout, useSetSession } from "../../api/session";
import { Button } from "../../components/Button";
import { Field } from "../../components/Field";
import { TroubleNote } from "../../components/States";
import { useWords } from "../../i18n/language";
import { login as words } from "../../i18n/login";
import mark from "../../mark.svg";
import { LanguageMenu, ThemeMenu } from "../../shell/Menus";
import { LEAST } from "../users/least";
import "./login.css";

export default function Login() {
  const t = useWords(words);
  const about = useAbout();
  const session = about.data?.session ?? null;
  const first = about.data?.first ?? false;
  return (
    <div className="login">
      <div className="login-menus row">
        <LanguageMenu />
        <ThemeMenu />
      </div>
      <main className="card login-card">
        <div className="login-brand">
          <img src={mark} alt="" width="40" height="40" />
          <div>
            <strong>Shardwright</strong>
            <p className="muted">{t.about}</p>
          </div>
        </div>
        {session?.first ? <NewAccount /> : first ? <Token /> : <Password />}
        {!first && !session?.first && about.data?.oidc && (
          <>
            <p className="or muted">{t.or}</p>
            <a className="button" href={`${HERE}/api/oidc/login`}>
              {t.with(about.data.oidc)}
            </a>
          </>
        )}
      </main>
      <p className="muted login-foot">{about.data && t.version(about.data.version)}</p>
    </div>
  );
}

interface FormProps {
  title: string;
  help?: string;
  action: string;
  ready: boolean;
  onSubmit: () => Promise<void>;
  children: ReactNode;
}

/** A form that waits for its answer, and says what is wrong. */
function Form({ title, help, action, ready, onSubmit, children }: FormProps) {
  const t = useWords(words);
  const [waits, setWaits] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready || waits) return;
    setWaits(true);
    setError(null);
    try {
      await onSubmit();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setWaits(false);
    }
  };
  return (
    <form className="stack" onSubmit={submit}>
      <h1>{title}</h1>
      {help && <p className="muted">{help}</p>}
      {children}
      <TroubleNote error={error} />
      <Button type="submit" kind="primary" disabled={!ready || waits}>
        {waits ? t.wait : action}
      </Button>
    </form>
  );
}

function Password() {
  const t = useWords(words);
  const setSession = useSetSession();
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const signIn = async () => {
    setSession(await answer(api.POST("/api/login", { body: { user, password } })));
  };
  return (
    <Form title={t.title} action={t.submit} ready={user !== "" && password !== ""} onSubmit={signIn}>
      <Text label={t.name} value={user} onChange={setUser} complete="username" focus />
      <Text label={t.password} value={password} onChange={setPassword} complete="current-password" secret />
    </Form>
  );
}

function Token() {
  const t = useWords(words);
  const setSession = useSetSession();
  const [token, setToken] = useState("");
  const show = async () => {
    setSession(await answer(api.POST("/api/login", { body: { token: token.trim() } })));
  };
  return (
    <Form title={t.first} help={t.firstHelp} action={t.continue} ready={token.trim() !== ""} onSubmit={show}>
      <Text label={t.token} value={token} onChange={setToken} complete="off" focus />
    </Form>
  );
}

function NewAccount() {
  const t = useWords(words);
  const setSession = useSetSession();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const short = password !== "" && password.length < LEAST;
  const differ = again !== "" && again !== password;
  const ready = name !== "" && password.length >= LEAST && again === password;
  const create = async () => {
    await answer(api.POST("/api/users", { body: { name, password, roles: { "*": "admin" } } }));
    // The token has done its work, and its session with it.
    present("");
    setSession(await answer(api.POST("/api/login", { body: { user: name, password } })));
  };
  return (
    <Form title={t.first} help={t.createHelp(LEAST)} action={t.create} ready={ready} onSubmit={create}>
      <Text label={t.name} value={name} onChange={setName} complete="username" focus />
      <Text
        label={t.password}
        value={password}
        onChange={setPassword}
        complete="new-password"
        fault={short ? t.short(LEAST) : null}
        secret
      />
      <Text
        label={t.repeat}
        value={again}
        onChange={setAgain}
        complete="new-password"
        fault={differ ? t.differ : null}
        secret
      />
    </Form>
  );
}

interface TextProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  complete: string;
  secret?: boolean;
  focus?: boolean;
  fault?: string | null;
}

function Text({ label, value, onChange, complete, secret = false, focus = false, fault = null }: TextProps) {
  return (
    <Field label={label} fault={fault}>
      {(props) => (
        <input
          {...props}
          className="input"
          type={secret ? "password" : "text"}
          autoComplete={complete}
          autoCapitalize="none"
          spellCheck={false}
          // biome-ignore lint/a11y/noAutofocus: there is nothing else on the page
          autoFocus={focus}
          required
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
