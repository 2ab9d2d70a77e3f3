import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { answer, api, Trouble } from "../../../api/client";
import { Button } from "../../../components/Button";
import { Dialog } from "../../../components/Dialog";
import { Loading, TroubleNote } from "../../../components/States";
import { useToast } from "../../../components/Toast";
import { common } from "../../../i18n/common";
import { done } from "../../../i18n/done";
import { useWords } from "../../../i18n/language";
import { settings } from "../../../i18n/settings";
import { useAct } from "../../../shell/act";
import { useRegistry } from "../../../shell/registry";
import { troubleOf } from "../../../shell/told";
import { differing, shown } from "./form";

interface Props {
  name: string;
  changes: Record<string, unknown>;
  version: number | null;
  onClose: () => void;
  onConflict: (trouble: Trouble) => void;
  onSaved: () => void;
}

/** What would change, as the console sees it, and the button that does it. */
export function Review({ name, changes, version, onClose, onConflict, onSaved }: Props) {
  const w = useWords(settings);
  const c = useWords(common);
  const d = useWords(done);
  const { name: registry } = useRegistry();
  const act = useAct();
  const say = useToast();
  const [busy, setBusy] = useState(false);
  const wish = { params: { path: { registry, job: name } }, body: { changes, version } };
  const diff = useQuery({
    queryKey: ["diff", registry, name, version, changes],
    queryFn: () => answer(api.POST("/api/r/{registry}/jobs/{job}/config/diff", wish)),
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  const overtaken = isConflict(diff.error);
  useEffect(() => {
    if (overtaken) onConflict(overtaken);
  }, [overtaken, onConflict]);

  const save = async () => {
    setBusy(true);
    try {
      const saved = await answer(api.PATCH("/api/r/{registry}/jobs/{job}/config", wish));
      await act(async () => saved, w.saved);
      onSaved();
    } catch (error) {
      const conflict = isConflict(error);
      if (conflict) onConflict(conflict);
      else say(troubleOf(error, d), "bad");
    }
    setBusy(false);
  };
  const same = diff.data?.changes.length === 0;

  return (
    <Dialog
      title={w.reviewTitle(name)}
      wide
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>{c.cancel}</Button>
          <Button type="submit" kind="primary" disabled={busy || !diff.data || same}>
            {c.save}
          </Button>
        </>
      }
    >
      {diff.isPending && <Loading />}
      {!overtaken && <TroubleNote error={diff.error} />}
      {same && <p>{w.nothing}</p>}
      {diff.data && !same && (
        <>
          <p className="muted">{w.reviewWhy}</p>
          <div className="table-wrap">
            <table className="plain">
              <thead>
                <tr>
                  <th scope="col">{w.setting}</th>
                  <th scope="col">{w.before}</th>
                  <th scope="col">{w.after}</th>
                </tr>
              </thead>
              <tbody>
                {diff.data.changes.map((change) => {
                  const [before, after] = differing(change.old, change.new);
                  return (
                    <tr key={change.setting}>
                      <th scope="row">
                        <code>{change.setting}</code>
                      </th>
                      <td>
                        <pre className="diff-old">{shown(before, w.unset)}</pre>
                      </td>
                      <td>
                        <pre className="diff-new">{shown(after, w.unset)}</pre>
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Dialog>
  );
}

function isConflict(error: unknown): Trouble | null {
  return error instanceof Trouble && error.kind === "conflict" ? error : null;
}
