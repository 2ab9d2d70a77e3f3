// Whether somebody is there. What the page fetches by itself must not keep a session alive that nobody uses.

/** For how long after somebody did something calls count as theirs, in milliseconds. */
export const SPAN = 10_000;

const SIGNS = ["pointerdown", "keydown", "wheel", "hashchange"];

// Opening the page is something that somebody did.
let last = performance.now();

/** Notice what somebody does on the page. */
export function watch(page: EventTarget): void {
  for (const sign of SIGNS) page.addEventListener(sign, noticed, { capture: true, passive: true });
}

function noticed(): void {
  last = performance.now();
}

export function isAttended(): boolean {
  return performance.now() - last < SPAN;
}
