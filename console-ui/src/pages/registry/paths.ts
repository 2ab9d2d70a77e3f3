// Nodes by their paths.

/** A path as the registry writes it. */
export function normal(path: string): string {
  return `/${path.split("/").filter(Boolean).join("/")}`;
}

export function below(path: string, name: string): string {
  return path === "/" ? `/${name}` : `${path}/${name}`;
}

export function parent(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** All that is above a node, from the root on. */
export function above(path: string): string[] {
  const names = path.split("/").filter(Boolean);
  return ["/", ...names.slice(0, -1).map((_, index) => `/${names.slice(0, index + 1).join("/")}`)].slice(
    0,
    Math.max(1, names.length),
  );
}
