// What the browser keeps for us: a few choices, nothing secret. Storage may be forbidden, and then nothing is kept.

const PREFIX = "shardwright.";

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {
    // It will be asked again next time.
  }
}
