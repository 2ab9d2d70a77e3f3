// Audit: who has changed what, and what was refused.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answer, api } from "../../api/client";
import type { Note } from "../../api/types";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { Field } from "../../components/Field";
import { PageHead } from "../../components/PageHead";
import { EmptyState, Loading, TroubleNote } from "../../components/States";
import { Time } from "../../components/Time";
import { audit as words } from "../../i18n/audit";
import { history as historyWords } from "../../i18n/history";
import { useWords } from "../../i18n/language";
import { useAsked } from "../../lib/place";
import { moment } from "../../lib/times";
import { useRegistry } from "../../shell/registry";
import { Moment } from "../history/Filters";
import { JobFilter } from "../history/Suggest";
import "../history/history.css";
import "./audit.css";

const PAGE = 200;
const MOST = 1000;

export default function Audit() {
  const t = useWords(words);
  const { history } = useRegistry();
  const h = useWords(historyWords);
  return (
    <div className="page">
      <PageHead title={t.title} about={t.about} />
      {history ? (
        <Changes />
      ) : (
        <EmptyState title={h.noHistory}>
          <p>{h.noHistoryHelp}</p>
        </EmptyState>
      )}
    </div>
  );
}

function Changes() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked, ask] = useAsked();
  const limit = Math.min(MOST, Number(asked.limit) || PAGE);
  const wanted = {
    job: asked.job || undefined,
    begin: asked.begin ? moment(asked.begin) || undefined : undefined,
    end: asked.end ? moment(asked.end) || undefined : undefined,
    limit,
  };
  const found = useQuery({
    queryKey: [registry, "audit", wanted],
    queryFn: () =>
      answer(api.GET("/api/r/{registry}/audit", { params: { path: { registry }, query: wanted } })),
    refetchInterval: 5000,
  });
  const all = found.data?.changes ?? [];
  const shown = useMemo(
    () => all.filter((note) => fits(note, asked.search ?? "", asked.refused === "1")),
    [all, asked.search, asked.refused],
  );
  const any = ["job", "begin", "end", "search", "refused"].some((key) => asked[key]);
  return (
    <>
      <search className="filters">
        <JobFilter value={asked.job ?? ""} onChange={(job) => ask({ job })} />
        <Moment label={t.from} value={asked.begin} onChange={(begin) => ask({ begin })} />
        <Moment label={t.to} value={asked.end} onChange={(end) => ask({ end })} />
        <Field label={t.search}>
          {(props) => (
            <input
              {...props}
              type="search"
              className="input"
              value={asked.search ?? ""}
              onChange={(event) => ask({ search: event.target.value })}
            />
          )}
        </Field>
        <label className="check refused">
          <input
            type="checkbox"
            checked={asked.refused === "1"}
            onChange={(event) => ask({ refused: event.target.checked ? "1" : "" })}
          />
          {t.refusedOnly}
        </label>
        {any && (
          <Button
            kind="quiet"
            small
            icon="close"
            onClick={() => ask({ job: "", begin: "", end: "", search: "", refused: "", limit: "" })}
          >
            {t.clear}
          </Button>
        )}
      </search>
      {found.isPending && <Loading />}
      {found.error && <TroubleNote error={found.error} again={() => found.refetch()} />}
      {found.data && shown.length === 0 && <EmptyState title={t.none} />}
      {shown.length > 0 && <Table notes={shown} />}
      {all.length >= limit && (
        <div className="row">
          <span className="muted">{t.limit(limit)}</span>
          {limit < MOST && (
            <Button small onClick={() => ask({ limit: String(limit + PAGE) })}>
              {t.more}
            </Button>
          )}
        </div>
      )}
    </>
  );
}

function fits(note: Note, search: string, refused: boolean): boolean {
  if (refused && note.outcome === "done") return false;
  const text = search.trim().toLowerCase();
  const parts = [note.who, note.what, note.target, note.detail, note.outcome];
  return !text || parts.some((each) => each.toLowerCase().includes(text));
}

function Table({ notes }: { notes: readonly Note[] }) {
  const t = useWords(words);
  return (
    <div className="table-wrap">
      <table className="plain audit">
        <thead>
          <tr>
            <th scope="col">{t.at}</th>
            <th scope="col">{t.who}</th>
            <th scope="col">{t.what}</th>
            <th scope="col">{t.target}</th>
            <th scope="col">{t.detail}</th>
            <th scope="col">{t.outcome}</th>
          </tr>
        </thead>
        <tbody>
          {notes.map((note, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: nothing else tells two equal changes apart
            <tr key={`${note.at} ${index}`}>
              <td className="nowrap">
                <Time at={note.at} />
              </td>
              <td className="words">{note.who}</td>
              <td className="nowrap">{note.what}</td>
              <td className="words">{note.target}</td>
              <td className="words muted">{note.detail}</td>
              <td className="words">
                {note.outcome === "done" ? (
                  <Badge tone="ok">{t.done}</Badge>
                ) : (
                  <span className="refusal">{note.outcome}</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
