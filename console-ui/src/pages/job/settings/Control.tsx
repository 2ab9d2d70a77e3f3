import { Button } from "../../../components/Button";
import { Field, type FieldProps } from "../../../components/Field";
import { useWords } from "../../../i18n/language";
import { settings } from "../../../i18n/settings";
import type { Setting, Value } from "./form";

const LONG = new Set(["parameter", "description"]);

interface Props {
  setting: Setting;
  value: unknown;
  changed: boolean;
  readOnly: boolean;
  onChange: (value: Value) => void;
}

/** One setting with its name, what it means, and the control that suits it. */
export function Control({ setting, value, changed, readOnly, onChange }: Props) {
  const w = useWords(settings);
  const said = (w.hints as Record<string, string>)[setting.name] || setting.property.description;
  const whole = setting.kind === "pairs" || LONG.has(setting.name);
  return (
    <Field
      label={<code>{setting.name}</code>}
      hint={said}
      className={[changed && "changed", whole && "whole"].filter(Boolean).join(" ")}
    >
      {(props) => <Input {...{ setting, value, readOnly, onChange }} field={props} />}
    </Field>
  );
}

interface InputProps extends Omit<Props, "changed"> {
  field: FieldProps;
}

function Input({ setting, value, readOnly, onChange, field }: InputProps) {
  const w = useWords(settings);
  const { kind, optional, property } = setting;
  if (kind === "boolean") {
    return (
      <label className="check">
        <input
          {...field}
          type="checkbox"
          checked={value === true}
          disabled={readOnly}
          onChange={(event) => onChange(event.target.checked)}
        />
        {value === true ? w.on : w.off}
      </label>
    );
  }
  if (kind === "choice") {
    return (
      <select
        {...field}
        className="input"
        value={String(value ?? "")}
        disabled={readOnly}
        onChange={(event) => onChange(event.target.value || null)}
      >
        {optional && <option value="">{w.unset}</option>}
        {setting.choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  if (kind === "number") {
    return (
      <input
        {...field}
        className="input"
        type="number"
        min={property.minimum}
        max={property.maximum}
        placeholder={optional ? w.unset : undefined}
        value={value === null || value === undefined ? "" : String(value)}
        readOnly={readOnly}
        onChange={(event) => onChange(event.target.value === "" ? null : Number(event.target.value))}
      />
    );
  }
  if (kind === "pairs") return <Pairs {...{ setting, value, readOnly, onChange, field }} />;
  if (kind === "list") {
    const lines = Array.isArray(value) ? value.map(String).join("\n") : "";
    return (
      <textarea
        {...field}
        className="input mono"
        rows={2}
        placeholder={w.one}
        value={lines}
        readOnly={readOnly}
        onChange={(event) => onChange(event.target.value === "" ? [] : event.target.value.split("\n"))}
      />
    );
  }
  const text = {
    ...field,
    className: "input mono",
    placeholder: optional ? w.unset : (property.examples?.[0] ?? ""),
    value: String(value ?? ""),
    readOnly,
    spellCheck: false,
    onChange: (event: { target: { value: string } }) =>
      onChange(event.target.value === "" && optional ? null : event.target.value),
  };
  return LONG.has(setting.name) ? <textarea {...text} rows={2} /> : <input {...text} autoComplete="off" />;
}

/** Texts by key, a line each. */
function Pairs({ setting, value, readOnly, onChange, field }: InputProps) {
  const w = useWords(settings);
  const pairs = Object.entries((value ?? {}) as Record<string, string>);
  const set = (index: number, key: string, text: string) =>
    onChange(Object.fromEntries(pairs.map((pair, at) => (at === index ? [key, text] : pair))));
  const fresh = setting.name === "item_parameters" ? String(next(pairs.map(([key]) => key))) : "";
  return (
    <div className="pairs" id={field.id} role="group" aria-label={setting.name}>
      {pairs.map(([key, text], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the key is what is being typed
        <div className="pair" key={index}>
          <input
            className="input mono"
            aria-label={w.key}
            value={key}
            readOnly={readOnly}
            onChange={(event) => set(index, event.target.value, text)}
          />
          <input
            className="input mono"
            aria-label={`${w.value} ${key}`}
            value={text}
            readOnly={readOnly}
            onChange={(event) => set(index, key, event.target.value)}
          />
          {!readOnly && (
            <Button
              kind="quiet"
              icon="close"
              aria-label={`${w.drop} ${key}`}
              onClick={() => onChange(Object.fromEntries(pairs.filter((_, at) => at !== index)))}
            />
          )}
        </div>
      ))}
      {!readOnly && (
        <div>
          <Button
            small
            disabled={pairs.some(([key]) => key === fresh)}
            onClick={() => onChange(Object.fromEntries([...pairs, [fresh, ""]]))}
          >
            {w.add}
          </Button>
        </div>
      )}
      {pairs.length === 0 && readOnly && <span className="muted">–</span>}
    </div>
  );
}

/** The first number that is not there yet. */
function next(keys: readonly string[]): number {
  const taken = new Set(keys);
  let number = 0;
  while (taken.has(String(number))) number++;
  return number;
}
