import { useState } from "react";
import { answer, api } from "../../api/client";
import type { JobPage } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { Field } from "../../components/Field";
import { common } from "../../i18n/common";
import { job as words } from "../../i18n/job";
import { useWords } from "../../i18n/language";
import { ranges } from "../../lib/ranges";
import { useAct } from "../../shell/act";
import { useRegistry } from "../../shell/registry";

interface Props {
  name: string;
  job: JobPage;
  onClose: () => void;
}

/** Have the job fire now: all shards or some, with a parameter or without. */
export function TriggerDialog({ name, job, onClose }: Props) {
  const w = useWords(words).trigger;
  const c = useWords(common);
  const { name: registry } = useRegistry();
  const act = useAct();
  const [some, setSome] = useState("");
  const [parameter, setParameter] = useState("");
  const [busy, setBusy] = useState(false);
  const total = job.brief.shards ?? 0;
  const shards = ranges(some, total);

  const trigger = async () => {
    if (!shards) return;
    setBusy(true);
    const done = await act(() =>
      answer(
        api.POST("/api/r/{registry}/jobs/{job}/trigger", {
          params: { path: { registry, job: name } },
          body: { parameter, ...(shards.length > 0 && { shards }) },
        }),
      ),
    );
    setBusy(false);
    if (done) onClose();
  };

  return (
    <Dialog
      title={w.title(name)}
      onClose={onClose}
      onSubmit={trigger}
      footer={
        <>
          <Button onClick={onClose}>{c.cancel}</Button>
          <Button type="submit" kind="primary" disabled={busy || !shards}>
            {c.trigger}
          </Button>
        </>
      }
    >
      <p>{w.body}</p>
      <Field label={w.shards} hint={w.shardsHint} fault={shards ? undefined : w.badShards(total)}>
        {(props) => (
          <input
            {...props}
            className="input mono"
            autoComplete="off"
            value={some}
            onChange={(event) => setSome(event.target.value)}
          />
        )}
      </Field>
      <Field label={w.parameter} hint={w.parameterHint}>
        {(props) => (
          <textarea
            {...props}
            className="input mono"
            rows={2}
            value={parameter}
            onChange={(event) => setParameter(event.target.value)}
          />
        )}
      </Field>
    </Dialog>
  );
}
