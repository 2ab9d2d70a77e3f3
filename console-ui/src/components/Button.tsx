import type { ComponentProps } from "react";
import { Icon, type IconName } from "./Icon";

interface Props extends ComponentProps<"button"> {
  kind?: "plain" | "primary" | "danger" | "quiet";
  small?: boolean;
  icon?: IconName;
  /** Why it cannot be pressed; it is disabled then, and says so. */
  why?: string | undefined;
}

/** A button; with an icon and no children give it an aria-label. */
export function Button({
  kind = "plain",
  small = false,
  icon,
  why,
  children,
  className,
  disabled,
  ...rest
}: Props) {
  const classes = [
    "button",
    kind !== "plain" && kind,
    small && "small",
    icon && !children && "icon",
    className,
  ].filter(Boolean);
  return (
    <button
      type="button"
      title={why ?? (children ? undefined : rest["aria-label"])}
      {...rest}
      disabled={disabled || why !== undefined}
      className={classes.join(" ")}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
