// The menus at the top: language, theme, and oneself.

import { useState } from "react";
import { answer, api } from "../api/client";
import { useSession, useSetSession } from "../api/session";
import { Button } from "../components/Button";
import { Dialog } from "../components/Dialog";
import { Field } from "../components/Field";
import { Menu } from "../components/Menu";
import { common } from "../i18n/common";
import { speak, useLanguage, useWords } from "../i18n/language";
import { shell } from "../i18n/shell";
import { show, type Theme, useTheme } from "../lib/theme";
import { useAct } from "./act";
import { useRegistry } from "./registry";

export function LanguageMenu() {
  const w = useWords(shell);
  const language = useLanguage();
  return (
    <Menu
      label={w.language}
      icon="language"
      items={[
        { title: "English", checked: language === "en", onChoose: () => speak("en") },
        { title: "中文", checked: language === "zh", onChoose: () => speak("zh") },
      ]}
    />
  );
}

export function ThemeMenu() {
  const w = useWords(shell);
  const theme = useTheme();
  const item = (which: Theme) => ({
    title: w[which],
    checked: theme === which,
    onChoose: () => show(which),
  });
  return (
    <Menu
      label={w.theme}
      icon={theme === "dark" ? "moon" : theme === "light" ? "sun" : "system"}
      items={[item("system"), item("light"), item("dark")]}
    />
  );
}

export function UserMenu() {
  const w = useWords(shell);
  const roles = useWords(common).roles;
  const session = useSession();
  const { role } = useRegistry();
  const setSession = useSetSession();
  const act = useAct();
  const [changing, setChanging] = useState(false);
  const signOut = async () => {
    const done = await act(() => answer(api.POST("/api/logout")), w.signedOut);
    if (done !== undefined) setSession(null);
  };
  return (
    <>
      <Menu
        label={w.account}
        icon="user"
        head={w.as(session.user, roles[role])}
        items={[
          { title: w.password, onChoose: () => setChanging(true) },
          { title: w.signOut, onChoose: signOut },
        ]}
      />
      {changing && <PasswordDialog onClose={() => setChanging(false)} />}
    </>
  );
}

function PasswordDialog({ onClose }: { onClose: () => void }) {
  const w = useWords(shell);
  const c = useWords(common);
  const act = useAct();
  const setSession = useSetSession();
  const [old, setOld] = useState("");
  const [wanted, setWanted] = useState("");
  const change = async () => {
    const session = await act(
      () => answer(api.POST("/api/password", { body: { old, new: wanted } })),
      w.passwordChanged,
    );
    if (!session) return;
    setSession(session);
    onClose();
  };
  return (
    <Dialog
      title={w.password}
      onClose={onClose}
      onSubmit={change}
      footer={
        <>
          <Button onClick={onClose}>{c.cancel}</Button>
          <Button type="submit" kind="primary" disabled={!old || !wanted}>
            {c.save}
          </Button>
        </>
      }
    >
      <Field label={w.oldPassword}>
        {(props) => (
          <input
            {...props}
            className="input"
            type="password"
            autoComplete="current-password"
            value={old}
            onChange={(event) => setOld(event.target.value)}
          />
        )}
      </Field>
      <Field label={w.newPassword}>
        {(props) => (
          <input
            {...props}
            className="input"
            type="password"
            autoComplete="new-password"
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
          />
        )}
      </Field>
    </Dialog>
  );
}
