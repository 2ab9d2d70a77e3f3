import { useWords } from "../../../i18n/language";
import { settings } from "../../../i18n/settings";
import { Control } from "./Control";
import { type Draft, type Property, setting, type Value } from "./form";
import { SchedulePreview } from "./SchedulePreview";

interface Props {
  properties: Record<string, Property>;
  groups: readonly { title: string; names: readonly string[] }[];
  value: (name: string) => unknown;
  draft: Draft;
  readOnly: boolean;
  onChange: (name: string, next: Value) => void;
}

/** All settings there are, by what they are about, and when a job with them would fire. */
export function Groups({ properties, groups, value, draft, readOnly, onChange }: Props) {
  const w = useWords(settings);
  return groups.map((group) => (
    <section className="card" key={group.title} aria-label={group.title}>
      <header>
        <h2>{(w.groups as Record<string, string>)[group.title] ?? group.title}</h2>
      </header>
      <div className="setting-grid">
        {group.names.map((each) => {
          const property = properties[each];
          return (
            property && (
              <Control
                key={each}
                setting={setting(each, property)}
                value={value(each)}
                changed={each in draft}
                readOnly={readOnly}
                onChange={(next) => onChange(each, next)}
              />
            )
          );
        })}
      </div>
      {group.title === "schedule" && (
        <SchedulePreview
          expression={String(value("cron") ?? value("schedule") ?? "")}
          zone={String(value("time_zone") ?? "")}
          dst={clockRule(value("dst"))}
        />
      )}
    </section>
  ));
}

function clockRule(value: unknown): "quartz" | "continuous" | null {
  return value === "quartz" || value === "continuous" ? value : null;
}
