/** Numbers as people write them, "0,3,10-20", in order and each once; null where it is nothing of the kind or one
 * is not below the total. An empty text is an empty list. */
export function ranges(text: string, total: number): number[] | null {
  const found = new Set<number>();
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!match) return null;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first || last >= total) return null;
    for (let item = first; item <= last; item++) found.add(item);
  }
  return [...found].sort((a, b) => a - b);
}
