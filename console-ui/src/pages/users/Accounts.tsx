// The accounts: made, changed and deleted.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../../api/client";
import { useSession } from "../../api/session";
import type { User } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Loading, TroubleNote } from "../../components/States";
import { Time } from "../../components/Time";
import { useWords } from "../../i18n/language";
import { users as words } from "../../i18n/users";
import { useAct } from "../../shell/act";
import { AccountDialog } from "./AccountDialog";

export function Accounts() {
  const t = useWords(words);
  const found = useQuery({ queryKey: ["users"], queryFn: () => answer(api.GET("/api/users")) });
  const [editing, setEditing] = useState<User | "new" | null>(null);
  return (
    <section className="stack" aria-labelledby="accounts-title">
      <div className="row spread">
        <div>
          <h2 id="accounts-title">{t.accounts}</h2>
          <p className="muted">{t.accountsAbout}</p>
        </div>
        <Button kind="primary" onClick={() => setEditing("new")}>
          {t.add}
        </Button>
      </div>
      {found.isPending && <Loading />}
      {found.error && <TroubleNote error={found.error} again={() => found.refetch()} />}
      {found.data && <Table users={found.data.users} onEdit={setEditing} />}
      {editing !== null && (
        <AccountDialog user={editing === "new" ? null : editing} onClose={() => setEditing(null)} />
      )}
    </section>
  );
}

function Table({ users, onEdit }: { users: readonly User[]; onEdit: (user: User) => void }) {
  const t = useWords(words);
  const { user: me } = useSession();
  const act = useAct();
  const confirm = useConfirm();
  const remove = async (name: string) => {
    const asked = { title: t.askRemove(name), body: t.askRemoveText, action: t.remove, danger: true };
    if (!(await confirm(asked))) return;
    await act(() => answer(api.DELETE("/api/users/{name}", { params: { path: { name } } })), t.removed(name));
  };
  return (
    <div className="table-wrap">
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t.name}</th>
            <th scope="col">{t.roles}</th>
            <th scope="col">{t.created}</th>
            <th scope="col">
              <span className="visually-hidden">{t.edit}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {users.map((user) => (
            <tr key={user.name}>
              <th scope="row">
                <span className="row">
                  <span className="who">{user.name}</span>
                  {user.name === me && <span className="tag">{t.you}</span>}
                  {user.locked && <Badge tone="bad">{t.lockedUntil}</Badge>}
                </span>
              </th>
              <td>
                <ul className="roles">
                  {Object.entries(user.roles).map(([registry, role]) => (
                    <li key={registry}>
                      {registry === "*" ? t.everywhere : registry}: <strong>{t[role]}</strong>
                    </li>
                  ))}
                </ul>
              </td>
              <td className="nowrap">
                <Time at={user.created} />
              </td>
              <td>
                <div className="row end-row">
                  <Button small aria-label={t.editOf(user.name)} onClick={() => onEdit(user)}>
                    {t.edit}
                  </Button>
                  {user.name !== me && (
                    <Button
                      small
                      kind="danger"
                      aria-label={t.removeOf(user.name)}
                      onClick={() => remove(user.name)}
                    >
                      {t.remove}
                    </Button>
                  )}
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
