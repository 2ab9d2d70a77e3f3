// What is in a node.

import { useQuery } from "@tanstack/react-query";
import { Trouble } from "../../api/client";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Copy } from "../../components/Copy";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { useWords } from "../../i18n/language";
import { registry as words } from "../../i18n/registry";
import { useRegistry } from "../../shell/registry";
import { nodeQuery } from "./nodes";

export function Details({ path }: { path: string }) {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const found = useQuery({ ...nodeQuery(registry, path), refetchInterval: 5000 });
  if (found.isPending) return <Loading />;
  if (found.error instanceof Trouble && found.error.kind === "unknown") {
    return (
      <EmptyState title={t.gone}>
        <p className="mono">{path}</p>
        <p>{found.error.message}</p>
      </EmptyState>
    );
  }
  if (found.error) return <TroubleNote error={found.error} again={() => found.refetch()} />;
  const node = found.data;
  return (
    <div className="stack">
      <div className="row spread">
        <h2 className="mono node-path">{node.path}</h2>
        <div className="row">
          <Copy text={node.path} />
          <Button kind="quiet" small icon="refresh" aria-label={t.reload} onClick={() => found.refetch()} />
        </div>
      </div>
      <dl className="facts">
        <dt>{t.version}</dt>
        <dd>{node.version}</dd>
        <dt>{t.made}</dt>
        <dd>{node.made}</dd>
        <dt>{t.written}</dt>
        <dd>{node.written}</dd>
        <dt>{t.ephemeral}</dt>
        <dd>{node.ephemeral ? <Badge tone="odd">{t.yes}</Badge> : t.no}</dd>
        {node.owner && (
          <>
            <dt>{t.owner}</dt>
            <dd className="mono">{node.owner}</dd>
          </>
        )}
        <dt>{t.children}</dt>
        <dd>{node.total}</dd>
      </dl>
      <h3>{t.data}</h3>
      {node.data ? (
        <pre className="data" tabIndex={0}>
          {node.data}
        </pre>
      ) : (
        <p className="muted">{t.empty}</p>
      )}
      {node.cut && <p className="note warn">{t.cut}</p>}
    </div>
  );
}
