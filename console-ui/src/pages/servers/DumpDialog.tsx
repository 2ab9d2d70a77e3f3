// A job's nodes as lines, as the dump port tells them.

import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../../api/client";
import { Copy } from "../../components/Copy";
import { Dialog } from "../../components/Dialog";
import { Loading, TroubleNote } from "../../components/States";
import { useWords } from "../../i18n/language";
import { servers as words } from "../../i18n/servers";
import { useRegistry } from "../../shell/registry";

export function DumpDialog({ job, onClose }: { job: string; onClose: () => void }) {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const found = useQuery({
    queryKey: [registry, "dump", job],
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/jobs/{job}/dump", { params: { path: { registry, job } } })),
  });
  const text = found.data?.lines.join("\n") ?? "";
  return (
    <Dialog title={t.dumpOf(job)} onClose={onClose} wide footer={<Copy text={text} />}>
      <div className="stack">
        <p className="muted">{t.dumpHelp}</p>
        {found.isPending && <Loading />}
        {found.error && <TroubleNote error={found.error} />}
        {found.data && (
          <pre className="dump mono" tabIndex={0}>
            {text}
          </pre>
        )}
      </div>
    </Dialog>
  );
}
