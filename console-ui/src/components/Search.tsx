interface Props {
  /** What is looked for; it stands in the field while that is empty. */
  label: string;
  value: string;
  onChange: (text: string) => void;
  className?: string;
}

/** A field for what to look for. */
export function Search({ label, value, onChange, className = "input" }: Props) {
  return (
    <input
      type="search"
      className={className}
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
