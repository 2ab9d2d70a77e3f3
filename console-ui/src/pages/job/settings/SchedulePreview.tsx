import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { answer, api, sentence } from "../../../api/client";
import { TroubleNote } from "../../../components/States";
import { Time } from "../../../components/Time";
import { useWords } from "../../../i18n/language";
import { settings } from "../../../i18n/settings";
import { useRested } from "../../../lib/late";
import { useRegistry } from "../../../shell/registry";

interface Props {
  expression: string;
  zone: string;
  /** What clock changes do to it, if that was chosen. */
  dst: "quartz" | "continuous" | null;
}

/** A schedule in words, its next ten fires, and what to know about it, while it is being typed. */
export function SchedulePreview({ expression, zone, dst }: Props) {
  const w = useWords(settings);
  const { name: registry } = useRegistry();
  const asked = useRested(`${zone}\n${expression}`, 350);
  const [inZone = "", text = ""] = asked.split("\n");
  const found = useQuery({
    queryKey: ["schedule", registry, text, inZone, dst, 10],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/schedule", {
          params: {
            path: { registry },
            query: { expression: text, count: 10, ...(inZone && { zone: inZone }), ...(dst && { dst }) },
          },
        }),
      ),
    enabled: text !== "",
    retry: false,
    placeholderData: keepPreviousData,
  });
  if (!text) return <p className="note cron-preview">{w.byHand}</p>;
  return (
    <section className="stack cron-preview" aria-label={w.preview} aria-live="polite">
      {found.error && <TroubleNote error={found.error} />}
      {!found.error && found.data && (
        <>
          {found.data.words && <p className="note ok">{found.data.words}</p>}
          <Cautions cautions={found.data.cautions.map((caution) => caution.text)} />
          <p className="muted">{found.data.fires.length === 0 ? w.noFires : w.next(found.data.zone)}</p>
          <ol>
            {found.data.fires.map((fire) => (
              <li key={fire}>
                <Time at={fire} />{" "}
                <span className="muted">
                  (<Time at={fire} relative />)
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

const AT_ONCE = 2;

/** What to know about a schedule: the nearest at once, the rest when one asks. */
function Cautions({ cautions }: { cautions: readonly string[] }) {
  const w = useWords(settings);
  const [first, rest] = [cautions.slice(0, AT_ONCE), cautions.slice(AT_ONCE)];
  const note = (text: string) => (
    <p className="note warn" key={text}>
      {sentence(text)}
    </p>
  );
  return (
    <>
      {first.map(note)}
      {rest.length > 0 && (
        <details>
          <summary>{w.moreCautions(rest.length)}</summary>
          <div className="stack">{rest.map(note)}</div>
        </details>
      )}
    </>
  );
}
