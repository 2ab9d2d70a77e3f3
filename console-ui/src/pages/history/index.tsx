// History: what became of fires, shard by shard; one run with its log; how many came to what, day by day. Beside
// it, what stands in ElasticJob's own tables.

import { Button } from "../../components/Button";
import { PageHead } from "../../components/PageHead";
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
import { TracedRuns, TracedStates } from "./Traces";
import "./history.css";

export default function History() {
  const t = useWords(words);
  const { history } = useRegistry();
  const [asked, ask] = useAsked();
  const run = askedRun(asked);
  return (
    <div className="page fill">
      <PageHead title={t.title} about={asked.view ? t.aboutTraces : t.about}>
        {history && <Views />}
      </PageHead>
      {!history ? (
        <EmptyState title={t.noHistory}>
          <p>{t.noHistoryHelp}</p>
        </EmptyState>
      ) : asked.view === "runs" ? (
        <TracedRuns />
      ) : asked.view === "states" ? (
        <TracedStates />
      ) : (
        <>
          <Filters />
          <Days />
          <Ledger />
          {run && <RunDialog key={writeRun(run)} run={run} onClose={() => ask({ run: "", fire: "" })} />}
        </>
      )}
    </div>
  );
}

/** Which of the histories is shown. */
function Views() {
  const t = useWords(words);
  const [asked, ask] = useAsked();
  const views = [
    ["", t.ledger],
    ["runs", t.traceRuns],
    ["states", t.traceStates],
  ] as const;
  return (
    <fieldset className="views">
      <legend className="visually-hidden">{t.views}</legend>
      {views.map(([view, title]) => (
        <Button key={view} small aria-pressed={(asked.view ?? "") === view} onClick={() => ask({ view })}>
          {title}
        </Button>
      ))}
    </fieldset>
  );
}
