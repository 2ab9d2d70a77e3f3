// The ledger: a line for each shard of each fire, the newest first, more of them as one scrolls.

import { useMemo } from "react";
import { answer, api } from "../../api/client";
import type { Fire } from "../../api/types";
import { OutcomeBadge } from "../../components/Badge";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { Duration, Time } from "../../components/Time";
import { type Column, VirtualTable } from "../../components/VirtualTable";
import { history as words } from "../../i18n/history";
import { useWords } from "../../i18n/language";
import { PAGE, useEndless } from "../../lib/endless";
import { useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";
import { question } from "./Filters";
import { FireTook } from "./FireTook";
import { wasAsked, writeRun } from "./run";

export function Ledger() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const wanted = question(asked);
  const { found, rows, onRange } = useEndless({
    key: [registry, "history", wanted],
    fetch: (after) =>
      answer(
        api.GET("/api/r/{registry}/history", {
          params: { path: { registry }, query: { ...wanted, limit: PAGE, after } },
        }),
      ),
    rows: (page) => page.fires,
  });
  const { hasNextPage, isFetchingNextPage } = found;
  const columns = useMemo(() => columnsOf(t), [t]);
  if (found.isPending) return <Loading />;
  if (found.error) return <TroubleNote error={found.error} again={() => found.refetch()} />;
  const more = isFetchingNextPage ? t.loading : hasNextPage ? "" : t.end;
  return (
    <VirtualTable
      label={t.title}
      columns={columns}
      rows={rows}
      rowKey={writeRun}
      onRange={onRange}
      onOpen={(fire) => ask({ run: writeRun(fire) })}
      empty={<EmptyState title={t.none} />}
      foot={[t.shown(rows.length), more].filter(Boolean).join(" · ")}
    />
  );
}

function columnsOf(t: (typeof words)["en"]): Column<Fire>[] {
  return [
    { id: "due", title: t.due, width: "140px", cell: (fire) => <Time at={fire.due} /> },
    {
      id: "job",
      title: t.job,
      width: "minmax(140px, 1.6fr)",
      cell: (fire) => (
        <>
          {fire.job}
          {wasAsked(fire.fire) && <span className="asked"> {t.asked}</span>}
        </>
      ),
    },
    { id: "shard", title: t.shard, width: "70px", align: "end", cell: (fire) => fire.shard },
    {
      id: "disposition",
      title: t.result,
      width: "minmax(130px, 1fr)",
      cell: (fire) => <OutcomeBadge disposition={fire.disposition} outcome={fire.outcome} />,
    },
    {
      id: "late",
      title: t.late,
      width: "90px",
      align: "end",
      wide: true,
      cell: (fire) => <Duration seconds={fire.late} />,
    },
    {
      id: "took",
      title: t.took,
      width: "90px",
      align: "end",
      wide: true,
      cell: (fire) => <FireTook fire={fire} />,
    },
    {
      id: "process",
      title: t.process,
      width: "minmax(150px, 1.8fr)",
      wide: true,
      cell: (fire) => <span className="mono muted">{fire.process}</span>,
    },
  ];
}
