// A job's settings: a form made from the schema, a look at what would change, and the change, which is refused
// when somebody else has saved meanwhile.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Trouble } from "../../../api/client";
import { Button } from "../../../components/Button";
import { Loading, TroubleNote } from "../../../components/States";
import { job as words } from "../../../i18n/job";
import { useWords } from "../../../i18n/language";
import { settings } from "../../../i18n/settings";
import { keys } from "../../../live/live";
import { useRegistry } from "../../../shell/registry";
import type { PartProps } from "..";
import { type Config, changes, type Draft, edited, type Property, type Value } from "./form";
import { Groups } from "./Groups";
import { Replacement } from "./Replacement";
import { Review } from "./Review";

export function SettingsTab({ name, job }: PartProps) {
  const w = useWords(settings);
  const { name: registry } = useRegistry();
  const schema = useQuery({
    queryKey: ["schema", registry],
    queryFn: () => answer(api.GET("/api/r/{registry}/schema", { params: { path: { registry } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (schema.error) return <TroubleNote error={schema.error} again={schema.refetch} />;
  if (!schema.data) return <Loading />;
  const properties = (schema.data.schema as { properties: Record<string, Property> }).properties;
  if (!job.config) {
    const trouble = <TroubleNote error={new Error(job.trouble || w.unreadable)} />;
    return <Replacement name={name} trouble={trouble} properties={properties} groups={schema.data.groups} />;
  }
  return (
    <Form
      name={name}
      current={{ config: job.config, version: job.version }}
      properties={properties}
      groups={schema.data.groups}
    />
  );
}

interface FormProps {
  name: string;
  current: { config: Config; version: number | null };
  properties: Record<string, Property>;
  groups: readonly { title: string; names: readonly string[] }[];
}

function Form({ name, current, properties, groups }: FormProps) {
  const w = useWords(settings);
  const registry = useRegistry();
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>({});
  // What the draft was made from. It stays while somebody edits, so that another's change is noticed.
  const [base, setBase] = useState(current);
  const [reviewing, setReviewing] = useState(false);
  const [conflict, setConflict] = useState<Trouble | null>(null);
  const count = Object.keys(changes(draft, base.config)).length;
  const overtaken = current.version !== base.version;
  if (overtaken && count === 0 && !conflict) setBase(current);

  const author = registry.may("author");
  const value = (setting: string) => draft[setting] ?? (setting in draft ? null : base.config[setting]);
  const change = (name: string, next: Value) => setDraft((all) => edited(all, base.config, name, next));
  const takeIn = async () => {
    await client.invalidateQueries({ queryKey: keys.job(registry.name, name) });
    const fresh = client.getQueryData<PartProps["job"]>(keys.job(registry.name, name));
    if (fresh?.config) {
      const config = fresh.config;
      setBase({ config, version: fresh.version });
      setDraft(Object.entries(draft).reduce<Draft>((all, [key, mine]) => edited(all, config, key, mine), {}));
    }
    setConflict(null);
  };

  return (
    <>
      {!author && <p className="note">{w.readOnly}</p>}
      <Groups {...{ properties, groups, value, draft }} readOnly={!author} onChange={change} />
      {author && count > 0 && (
        <div className="save-bar">
          {(conflict || overtaken) && <Overtaken name={name} trouble={conflict} onTakeIn={takeIn} />}
          <strong role="status">{w.changed(count)}</strong>
          <span className="grow" />
          <Button
            onClick={() => {
              setDraft({});
              setConflict(null);
            }}
          >
            {w.discard}
          </Button>
          <Button kind="primary" onClick={() => setReviewing(true)} disabled={overtaken || conflict !== null}>
            {w.review}
          </Button>
        </div>
      )}
      {reviewing && (
        <Review
          name={name}
          changes={changes(draft, base.config)}
          version={base.version}
          onClose={() => setReviewing(false)}
          onConflict={(trouble) => {
            setReviewing(false);
            setConflict(trouble);
          }}
          onSaved={() => {
            setReviewing(false);
            setDraft({});
          }}
        />
      )}
    </>
  );
}

/** Somebody else has saved: who, and how one goes on. */
function Overtaken({
  name,
  trouble,
  onTakeIn,
}: {
  name: string;
  trouble: Trouble | null;
  onTakeIn: () => void;
}) {
  const w = useWords(settings);
  const all = useWords(words);
  const registry = useRegistry();
  const audit = useQuery({
    queryKey: [registry.name, "audit", "last", name],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/audit", {
          params: { path: { registry: registry.name }, query: { job: name, limit: 20 } },
        }),
      ),
    enabled: registry.history,
    retry: false,
    staleTime: 0,
  });
  const last = audit.data?.changes.find((note) => /update|replace|config/.test(note.what));
  return (
    <div className="note warn row spread whole" role="alert" aria-label={all.tab.settings}>
      <span>
        {last ? w.overtakenBy(last.who) : w.overtaken} {trouble?.message}
      </span>
      <Button small onClick={onTakeIn}>
        {w.takeIn}
      </Button>
    </div>
  );
}
