// History: what became of fires, shard by shard; one run with its log; how many came to what, day by day.

import { EmptyState } from "../../components/States";
import { history as words } from "../../i18n/history";
import { useWords } from "../../i18n/language";
import { useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";
import { Days } from "./Days";
import { Filters } from "./Filters";
import { Ledger } from "./Ledger";
import { RunDialog } from "./RunDialog";
import { askedRun, writeRun } from "./run";
import "./history.css";

export default function History() {
  const t = useWords(words);
  const { history } = useRegistry();
  const [asked, ask] = useAsked();
  const run = askedRun(asked);
  return (
    <div className="page fill">
      <header>
        <div>
          <h1>{t.title}</h1>
          <p>{t.about}</p>
        </div>
      </header>
      {history ? (
        <>
          <Filters />
          <Days />
          <Ledger />
          {run && <RunDialog key={writeRun(run)} run={run} onClose={() => ask({ run: "", fire: "" })} />}
        </>
      ) : (
        <EmptyState title={t.noHistory}>
          <p>{t.noHistoryHelp}</p>
        </EmptyState>
      )}
    </div>
  );
}
