import { type ReactNode, useId } from "react";

export interface FieldProps {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

interface Props {
  label: ReactNode;
  hint?: ReactNode;
  fault?: string | null | undefined;
  className?: string;
  /** Makes the control, which takes these props. */
  children: (props: FieldProps) => ReactNode;
}

/** A labelled control with a hint and, if need be, what is wrong with what stands in it. */
export function Field({ label, hint, fault, className, children }: Props) {
  const id = useId();
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ");
  return (
    <div className={className ? `field ${className}` : "field"}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        "aria-describedby": described || undefined,
        "aria-invalid": fault ? true : undefined,
      })}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {fault && (
        <span className="fault" id={`${id}-fault`}>
          {fault}
        </span>
      )}
    </div>
  );
}
