// A small line without axes: how late the last fires were.

interface Props {
  values: readonly (number | null)[];
  label: string;
  width?: number;
  height?: number;
}

/** Points of the line, from the left; what is not known leaves a hole. */
export function line(values: readonly (number | null)[], width: number, height: number): string {
  const known = values.filter((value): value is number => value !== null);
  const top = Math.max(1, ...known);
  const step = width / Math.max(1, values.length - 1);
  let path = "";
  let open = false;
  values.forEach((value, index) => {
    if (value === null) {
      open = false;
      return;
    }
    const y = height - (Math.max(0, value) / top) * height;
    path += `${open ? "L" : "M"}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
    open = true;
  });
  return path;
}

export function Sparkline({ values, label, width = 84, height = 18 }: Props) {
  if (values.length === 0) return <span className="muted">–</span>;
  if (values.length === 1) return <span title={label}>·</span>;
  const path = line(values, width, height - 2);
  const whole = values.every((value) => value !== null);
  return (
    <svg className="sparkline" width={width} height={height} viewBox={`0 -1 ${width} ${height}`} role="img">
      <title>{label}</title>
      {whole && <path className="area" d={`${path}L${width} ${height - 2}L0 ${height - 2}Z`} />}
      <path d={path} />
    </svg>
  );
}
