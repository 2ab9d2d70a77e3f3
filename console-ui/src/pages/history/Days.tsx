// How many shards of fires came to what, a bar for each day.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answer, api } from "../../api/client";
import { Duration } from "../../components/Time";
import { history as words } from "../../i18n/history";
import { locale, useLanguage, useWords } from "../../i18n/language";
import { useAsked } from "../../lib/place";
import { useRegistry } from "../../shell/registry";
import { byDay, DAY, type Day, today } from "./counts";
import { question } from "./Filters";

/** So many days are shown where nobody asked for others. */
const USUAL = 30;

const HEIGHT = 44;
const STEP = 11;
const WIDTH = 8;

export function Days() {
  const t = useWords(words);
  const { name: registry } = useRegistry();
  const [asked] = useAsked();
  const { job, begin, end } = question(asked);
  const since = begin ?? new Date(today() - (USUAL - 1) * DAY).toISOString();
  const found = useQuery({
    queryKey: [registry, "history", "days", job, since, end],
    queryFn: () =>
      answer(
        api.GET("/api/r/{registry}/history/statistics", {
          params: { path: { registry }, query: { job, begin: since, end } },
        }),
      ),
    refetchInterval: 30_000,
  });
  const days = useMemo(() => byDay(found.data?.counts ?? [], since, end), [found.data, since, end]);
  if (!found.data) return null;
  return (
    <section className="card days" aria-labelledby="days-title">
      <header>
        <h2 id="days-title">{t.statistics}</h2>
        <ul className="legend">
          <li className="well">{t.well}</li>
          <li className="other">{t.other}</li>
          <li className="bad">{t.bad}</li>
        </ul>
      </header>
      {days.some((each) => each.fires > 0) ? (
        <>
          <Bars days={days} />
          <DayTable days={days.filter((each) => each.fires > 0)} />
        </>
      ) : (
        <p className="muted">{t.noStatistics}</p>
      )}
    </section>
  );
}

function Bars({ days }: { days: readonly Day[] }) {
  const t = useWords(words);
  const speech = locale(useLanguage());
  const most = Math.max(1, ...days.map((each) => each.fires));
  const width = days.length * STEP;
  const high = (fires: number) => (fires === 0 ? 0 : Math.max(2, (fires / most) * HEIGHT));
  const named = (day: string) =>
    new Date(`${day}T00:00:00Z`).toLocaleDateString(speech, {
      month: "short",
      day: "numeric",
      timeZone: "UTC",
    });
  const ends = days.length > 1 ? [days[0], days.at(-1)] : [days[0]];
  return (
    <figure className="bars" style={{ maxWidth: days.length * 40 }}>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        height={HEIGHT}
        role="img"
        aria-label={t.statistics}
        preserveAspectRatio="none"
      >
        {days.map((day, index) => {
          const well = high(day.well);
          const other = high(day.other);
          const bad = high(day.bad);
          const x = index * STEP;
          return (
            <g key={day.day}>
              <title>{t.statisticsOf(named(day.day), day.fires, day.bad)}</title>
              <rect className="ground" x={x} y={0} width={WIDTH} height={HEIGHT} />
              <rect className="well" x={x} y={HEIGHT - well} width={WIDTH} height={well} />
              <rect className="other" x={x} y={HEIGHT - well - other} width={WIDTH} height={other} />
              <rect className="bad" x={x} y={HEIGHT - well - other - bad} width={WIDTH} height={bad} />
            </g>
          );
        })}
      </svg>
      <figcaption className="row spread muted">
        {ends.map((each) => each && <span key={each.day}>{named(each.day)}</span>)}
      </figcaption>
    </figure>
  );
}

function DayTable({ days }: { days: readonly Day[] }) {
  const t = useWords(words);
  return (
    <details>
      <summary>{t.table}</summary>
      <div className="table-wrap day-table">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{t.dayColumn}</th>
              <th scope="col" className="end">
                {t.fires}
              </th>
              <th scope="col" className="end">
                {t.well}
              </th>
              <th scope="col" className="end">
                {t.other}
              </th>
              <th scope="col" className="end">
                {t.bad}
              </th>
              <th scope="col" className="end">
                {t.meanLate}
              </th>
              <th scope="col" className="end">
                {t.latest}
              </th>
              <th scope="col" className="end">
                {t.ran}
              </th>
            </tr>
          </thead>
          <tbody>
            {days.toReversed().map((day) => (
              <tr key={day.day}>
                <th scope="row">{day.day}</th>
                <td className="end">{day.fires}</td>
                <td className="end">{day.well}</td>
                <td className="end">{day.other}</td>
                <td className="end">{day.bad}</td>
                <td className="end">
                  <Duration seconds={day.late / day.fires} />
                </td>
                <td className="end">
                  <Duration seconds={day.latest} />
                </td>
                <td className="end">
                  <Duration seconds={day.ran} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
