// Registry: its nodes as a tree to look at, opened as one goes, and what is in one of them.

import { type FormEvent, useEffect, useState } from "react";
import { Button } from "../../components/Button";
import { Field } from "../../components/Field";
import { PageHead } from "../../components/PageHead";
import { EmptyState, Loading } from "../../components/States";
import { useWords } from "../../i18n/language";
import { registry as words } from "../../i18n/registry";
import { useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";
import { Details } from "./Details";
import { useNamespace } from "./nodes";
import { above, normal } from "./paths";
import { Tree } from "./Tree";
import "./registry.css";

export default function Registry() {
  const { name } = useRegistry();
  return <Browser key={name} />;
}

function Browser() {
  const t = useWords(words);
  const [asked, ask] = useAsked();
  const namespace = useNamespace();
  const chosen = asked.path ? normal(asked.path) : namespace;
  const [typed, setTyped] = useState(asked.path ?? "");
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(["/"]));

  // Whatever is chosen is in sight: the way to it is open.
  useEffect(() => {
    if (!chosen) return;
    setTyped(chosen);
    setOpen((now) => new Set([...now, ...above(chosen)]));
  }, [chosen]);

  const choose = (path: string) => ask({ path });
  const go = (event: FormEvent) => {
    event.preventDefault();
    if (typed.trim()) choose(normal(typed.trim()));
  };
  return (
    <div className="page fill registry">
      <PageHead title={t.title} about={t.about}>
        <form className="row path-form" onSubmit={go}>
          <Field label={t.go}>
            {(props) => (
              <input
                {...props}
                className="input mono"
                spellCheck={false}
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
              />
            )}
          </Field>
          <Button type="submit">{t.open}</Button>
        </form>
      </PageHead>
      <div className="panes">
        <section className="card flat pane" aria-label={t.tree}>
          {namespace || asked.path ? (
            <Tree open={open} onOpen={setOpen} chosen={chosen} onChoose={choose} />
          ) : (
            <Loading />
          )}
          <p className="keys muted" id="tree-keys">
            {t.keys}
          </p>
        </section>
        <section className="card pane details" aria-live="polite">
          {chosen ? <Details path={chosen} /> : <EmptyState title={t.choose} />}
        </section>
      </div>
    </div>
  );
}
