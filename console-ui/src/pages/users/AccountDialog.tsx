// An account: its name, its password, and a role for each registry, or one for all.

import { useState } from "react";
import { answer, api } from "../../api/client";
import { useSession } from "../../api/session";
import { ROLES, type Role, type User } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Field } from "../../components/Field";
import { useWords } from "../../i18n/language";
import { users as words } from "../../i18n/users";
import { useAct } from "../../shell/act";
import { LEAST } from "./least";

type Roles = Record<string, Role>;

export function AccountDialog({ user, onClose }: { user: User | null; onClose: () => void }) {
  const t = useWords(words);
  const { registries } = useSession();
  const act = useAct();
  const [name, setName] = useState(user?.name ?? "");
  const [password, setPassword] = useState("");
  const [roles, setRoles] = useState<Roles>({ ...user?.roles });
  const names = [...new Set(["*", ...registries.map((each) => each.name), ...Object.keys(roles)])];
  const short = password !== "" && password.length < LEAST;
  const ready = Object.keys(roles).length > 0 && !short && (user ? true : name !== "" && password !== "");

  const give = (registry: string, role: string) => {
    const next = { ...roles };
    const given = ROLES.find((each) => each === role);
    if (given) next[registry] = given;
    else delete next[registry];
    setRoles(next);
  };
  const save = async () => {
    if (!ready) return;
    const done = user
      ? await act(
          () =>
            answer(
              api.PATCH("/api/users/{name}", {
                params: { path: { name } },
                body: { roles, password: password || null },
              }),
            ),
          t.saved(name),
        )
      : await act(() => answer(api.POST("/api/users", { body: { name, password, roles } })), t.saved(name));
    if (done !== undefined) onClose();
  };

  return (
    <Dialog
      title={user ? t.editOf(user.name) : t.add}
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" disabled={!ready}>
            {user ? t.save : t.create}
          </Button>
        </>
      }
    >
      {!user && (
        <Field label={t.name}>
          {(props) => (
            <input
              {...props}
              className="input"
              autoComplete="off"
              required
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
      )}
      <Field
        label={user ? t.newPassword : t.password}
        hint={t.passwordHelp(LEAST)}
        fault={short ? t.passwordHelp(LEAST) : null}
      >
        {(props) => (
          <input
            {...props}
            className="input"
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        )}
      </Field>
      <fieldset className="roles-of">
        <legend>{t.roles}</legend>
        {names.map((registry) => (
          <Field key={registry} label={registry === "*" ? t.everywhere : registry}>
            {(props) => (
              <select
                {...props}
                className="input"
                value={roles[registry] ?? ""}
                onChange={(event) => give(registry, event.target.value)}
              >
                <option value="">{t.noRole}</option>
                {ROLES.map((role) => (
                  <option key={role} value={role}>
                    {t[role]}
                  </option>
                ))}
              </select>
            )}
          </Field>
        ))}
      </fieldset>
      <dl className="facts">
        {ROLES.map((role) => (
          <div key={role} className="pair">
            <dt>{t[role]}</dt>
            <dd className="muted">{t[`${role}Help`]}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
