// How the page speaks to the console. Answers are data; everything else becomes a `Trouble` with a sentence.

import createClient, { type Middleware } from "openapi-fetch";
import { isAttended } from "./attention";
import type { paths } from "./schema";
import { Trouble } from "./trouble";
import type { Problem } from "./types";

/** Where the page is, without a slash at the end: the API is beside it, whatever path that is. */
export const HERE = new URL(".", location.href).pathname.replace(/\/$/, "");

export { Trouble };

let csrf = "";
let signedOut: () => void = () => {};

/** What goes along with every change, and whom to tell when the session is over. */
export function present(token: string): void {
  csrf = token;
}
export function onSignedOut(told: () => void): void {
  signedOut = told;
}

export const manners: Middleware = {
  onRequest({ request }) {
    if (request.method !== "GET" && csrf) request.headers.set("X-Shardwright-CSRF", csrf);
    if (!isAttended()) request.headers.set("X-Shardwright-Unattended", "1");
    return request;
  },
  async onResponse({ response, schemaPath }) {
    if (response.ok) return;
    const problem = await read(response);
    if (response.status === 401 && schemaPath !== "/api/login") signedOut();
    throw problem;
  },
  onError() {
    return new Trouble("The console cannot be reached. Is it running, and is the network there?", "lost", 0);
  },
};

async function read(response: Response): Promise<Trouble> {
  const { status } = response;
  try {
    const said: unknown = await response.json();
    if (typeof said === "object" && said !== null && "error" in said && "kind" in said) {
      return new Trouble(sentence(String(said.error)), said.kind as Problem["kind"], status);
    }
  } catch {
    // It did not come from the console: a proxy's page, say.
  }
  const kind =
    status === 401 ? "login" : status === 403 ? "forbidden" : status >= 500 ? "unreachable" : "invalid";
  return new Trouble(
    `The console answered ${status} ${response.statusText}.`.replace(" .", "."),
    kind,
    status,
  );
}

/** A message as a sentence of its own. */
export function sentence(text: string): string {
  const said = text.trim();
  if (!said) return said;
  const first = said.charAt(0).toUpperCase() + said.slice(1);
  return /[.!?…。！？]$/.test(first) ? first : `${first}.`;
}

export const api = createClient<paths>({ baseUrl: HERE });
api.use(manners);

/** The data of an answer; what went wrong is thrown. */
export async function answer<Data>(call: Promise<{ data?: Data; response: Response }>): Promise<Data> {
  const { data } = await call;
  return data as Data;
}
