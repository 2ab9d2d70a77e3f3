// Users: who may sign in and do what, and who is here now.

import { useSession } from "../../api/session";
import { EmptyState } from "../../components/States";
import { useWords } from "../../i18n/language";
import { users as words } from "../../i18n/users";
import { Accounts } from "./Accounts";
import { Sessions } from "./Sessions";
import "./users.css";

export default function Users() {
  const t = useWords(words);
  const { admin } = useSession();
  return (
    <div className="page">
      <header>
        <h1>{t.title}</h1>
      </header>
      {admin ? (
        <>
          <Accounts />
          <Sessions />
        </>
      ) : (
        <EmptyState title={t.notYours} />
      )}
    </div>
  );
}
