// Who is signed in, and ending that.

import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../../api/client";
import type { OpenSession } from "../../api/types";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Loading, TroubleNote } from "../../components/States";
import { Time } from "../../components/Time";
import { useWords } from "../../i18n/language";
import { users as words } from "../../i18n/users";
import { useAct } from "../../shell/act";

export function Sessions() {
  const t = useWords(words);
  const found = useQuery({
    queryKey: ["sessions"],
    queryFn: () => answer(api.GET("/api/sessions")),
    refetchInterval: 15_000,
  });
  return (
    <section className="stack" aria-labelledby="sessions-title">
      <div>
        <h2 id="sessions-title">{t.sessions}</h2>
        <p className="muted">{t.sessionsAbout}</p>
      </div>
      {found.isPending && <Loading />}
      {found.error && <TroubleNote error={found.error} again={() => found.refetch()} />}
      {found.data && <Table sessions={found.data.sessions} />}
    </section>
  );
}

function Table({ sessions }: { sessions: readonly OpenSession[] }) {
  const t = useWords(words);
  const act = useAct();
  const confirm = useConfirm();
  const end = async ({ id, user }: OpenSession) => {
    const asked = { title: t.askEnd(user), body: t.askEndText, action: t.end, danger: true };
    if (!(await confirm(asked))) return;
    await act(() => answer(api.DELETE("/api/sessions/{key}", { params: { path: { key: id } } })), t.ended);
  };
  return (
    <div className="table-wrap">
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t.user}</th>
            <th scope="col">{t.from}</th>
            <th scope="col">{t.since}</th>
            <th scope="col">{t.expires}</th>
            <th scope="col">
              <span className="visually-hidden">{t.end}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <tr key={session.id}>
              <th scope="row">
                <span className="row">
                  <span className="who">{session.user}</span>
                  {session.own && <span className="tag">{t.thisOne}</span>}
                </span>
              </th>
              <td className="mono">{session.address}</td>
              <td className="nowrap">
                <Time at={session.began} />
              </td>
              <td className="nowrap">
                <Time at={session.expires} />
              </td>
              <td className="end">
                {!session.own && (
                  <Button small kind="danger" aria-label={t.endOf(session.user)} onClick={() => end(session)}>
                    {t.end}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
