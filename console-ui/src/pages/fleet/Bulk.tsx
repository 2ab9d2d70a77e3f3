// Doing the same to many jobs: asked about first, and told afterwards what was refused and why.

import { useState } from "react";
import { answer, api } from "../../api/client";
import type { BulkDone } from "../../api/types";
import { Button } from "../../components/Button";
import { useConfirm } from "../../components/Confirm";
import { Dialog } from "../../components/Dialog";
import { useToast } from "../../components/Toast";
import { common } from "../../i18n/common";
import { done } from "../../i18n/done";
import { fleet } from "../../i18n/fleet";
import { useWords } from "../../i18n/language";
import { troubleOf } from "../../shell/told";

const ACTIONS = ["trigger", "enable", "disable", "shutdown"] as const;
type Action = (typeof ACTIONS)[number];
const AT_ONCE = 500;

interface Props {
  registry: string;
  chosen: ReadonlySet<string>;
  total: number;
  /** Whether it is being done: what is chosen stays as it is meanwhile. */
  busy: boolean;
  onBusy: (busy: boolean) => void;
  onClear: () => void;
  onAll: () => void;
  onDone: () => void;
}

export function Bulk({ registry, chosen, total, busy, onBusy, onClear, onAll, onDone }: Props) {
  const w = useWords(fleet);
  const c = useWords(common);
  const d = useWords(done);
  const confirm = useConfirm();
  const say = useToast();
  const [report, setReport] = useState<BulkDone | null>(null);

  const act = async (action: Action) => {
    const jobs = [...chosen];
    const question = w.bulk[action];
    const sure = await confirm({
      title: question.title(jobs.length),
      body: (
        <>
          <p>{question.body}</p>
          <p className="muted mono">{some(jobs)}</p>
        </>
      ),
      action: c[action],
      danger: action === "shutdown" || action === "disable",
    });
    if (!sure) return;
    onBusy(true);
    const told: BulkDone = { done: [], refused: [] };
    try {
      for (let from = 0; from < jobs.length; from += AT_ONCE) {
        const part = await answer(
          api.POST("/api/r/{registry}/bulk", {
            params: { path: { registry } },
            body: { jobs: jobs.slice(from, from + AT_ONCE), action },
          }),
        );
        told.done.push(...part.done);
        told.refused.push(...part.refused);
      }
    } catch (error) {
      say(troubleOf(error, d), "bad");
    }
    onBusy(false);
    if (told.refused.length > 0) setReport(told);
    else if (told.done.length > 0) {
      say(w.reportDone(told.done.length));
      onClear();
    }
    onDone();
  };

  return (
    <>
      <div className="bulk row" role="group" aria-label={c.actions}>
        <strong role="status">{w.selected(chosen.size)}</strong>
        {chosen.size < total && (
          <Button small kind="quiet" disabled={busy} onClick={onAll}>
            {w.selectAll(total)}
          </Button>
        )}
        <Button small kind="quiet" disabled={busy} onClick={onClear}>
          {w.unselect}
        </Button>
        <span className="grow" />
        {ACTIONS.map((action) => (
          <Button
            key={action}
            small
            disabled={busy}
            kind={action === "shutdown" ? "danger" : "plain"}
            onClick={() => act(action)}
          >
            {c[action]}
          </Button>
        ))}
      </div>
      {report && <Report report={report} onClose={() => setReport(null)} />}
    </>
  );
}

function Report({ report, onClose }: { report: BulkDone; onClose: () => void }) {
  const w = useWords(fleet);
  const c = useWords(common);
  return (
    <Dialog title={w.report} wide onClose={onClose} footer={<Button onClick={onClose}>{c.close}</Button>}>
      {report.done.length > 0 && <p className="note ok">{w.reportDone(report.done.length)}</p>}
      <p>{w.reportRefused(report.refused.length)}</p>
      <div className="table-wrap">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{c.job}</th>
              <th scope="col">{w.reason}</th>
            </tr>
          </thead>
          <tbody>
            {report.refused.map(({ job, error }) => (
              <tr key={job}>
                <td className="mono">{job}</td>
                <td>{error}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  );
}

function some(names: readonly string[]): string {
  const first = names.slice(0, 8).join(", ");
  return names.length > 8 ? `${first} … +${names.length - 8}` : first;
}
