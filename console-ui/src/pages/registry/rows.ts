// The tree as rows, one below the other.

import type { TreeNode } from "../../api/types";
import { below } from "./paths";

export interface Row {
  path: string;
  name: string;
  level: number;
  /** Which of how many it is below its parent. */
  place: number;
  of: number;
  /** Whether it is open; undefined for a node that is known to have no children. */
  isOpen: boolean | undefined;
  /** A line that only says how many children are left out. */
  left?: number;
}

/** The rows that are open, in their order. */
export function rowsOf(open: ReadonlySet<string>, read: ReadonlyMap<string, TreeNode>): Row[] {
  const rows: Row[] = [];
  const add = (path: string, name: string, level: number, place: number, of: number) => {
    const node = read.get(path);
    const leaf = node !== undefined && node.total === 0;
    rows.push({ path, name, level, place, of, isOpen: leaf ? undefined : open.has(path) });
    if (!node || !open.has(path)) return;
    node.children.forEach((child, index) => {
      add(below(path, child), child, level + 1, index + 1, node.total);
    });
    const left = node.total - node.children.length;
    if (left > 0) {
      rows.push({
        path: `${path}\u0000`,
        name: "",
        level: level + 1,
        place: node.total,
        of: node.total,
        isOpen: undefined,
        left,
      });
    }
  };
  add("/", "/", 1, 1, 1);
  return rows;
}
