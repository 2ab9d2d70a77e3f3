import type { Problem } from "./types";

/** Something did not work, in a sentence for people. */
export class Trouble extends Error {
  constructor(
    message: string,
    readonly kind: Problem["kind"] | "lost",
    readonly status: number,
  ) {
    super(message);
  }
}
