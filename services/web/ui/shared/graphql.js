// @ts-check
// Asks the public API, as any other client does.
import { signal } from "../vendor/preact/signals.js";
import { first } from "./first.js";
import { endSession, person } from "./session.js";

export { first } from "./first.js";

/** @typedef {{ operation: string, variables: any, answer: any, millis: number, first?: boolean }} Asked */

/** What replaces the token, if it can be: who has signed in at an identity provider has come from there, so
 * that is known when the page begins. */
const keeper = first.login?.ready && person.peek()?.login ? import("./login.js") : null;

/** How many operations a page shows of those it has sent. */
const MAX_SHOWN = 40;

/** The operations that the scripts of this page send, by name.
 * @type {Record<string, string>} */
const known = {};

/** Adds operations to those that can be asked for by name.
 * @param {Record<string, string>} operations */
export function knowOperations(operations) {
  Object.assign(known, operations);
}

/** The text of an operation.
 * @param {string} operation */
export const textOf = (operation) => known[operation] ?? "";

/** What went wrong, with the code that clients decide by. */
export class ApiError extends Error {
  /** @param {string} message
   * @param {string} code
   * @param {boolean} retryable */
  constructor(message, code, retryable) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

/** What this page has asked so far. */
export const asked = signal(/** @type {Asked[]} */ (first.asked.map((one) => ({ ...one, first: true }))));

/** Forgets what other pages have asked. */
export function forgetAsked() {
  asked.value = [];
}

/** @param {any} a
 * @param {any} b
 * @returns {boolean} */
function same(a, b) {
  if (a === b) return true;
  if (!a || !b || typeof a !== "object" || typeof b !== "object") return (a ?? null) === (b ?? null);
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => same(a[key], b[key]));
}

/** The answer that came with the page, if it is the one; it is used once.
 * @param {string} operation
 * @param {any} variables */
function fromPage(operation, variables) {
  if (person.value) return undefined;
  const at = first.asked.findIndex((one) => one.operation === operation && same(one.variables, variables));
  if (at < 0 || first.asked[at].answer?.errors) return undefined;
  return first.asked.splice(at, 1)[0].answer;
}

/** The answer that came with the page, at once; undefined if there is none. It is that of a stranger:
 * others are shown it until they have their own.
 * @param {string} operation
 * @param {any} variables
 * @returns {{ data: any, own: boolean } | undefined} */
export function atOnce(operation, variables) {
  const own = fromPage(operation, variables);
  if (own) return { data: own.data, own: true };
  const strangers = first.asked.find((one) => one.operation === operation && same(one.variables, variables));
  return strangers?.answer?.data && { data: strangers.answer.data, own: false };
}

/** Asks, and takes what is there of an answer that lacks something.
 * @param {string} operation
 * @param {any} variables
 * @param {{ signal?: AbortSignal, keepalive?: boolean }} [options]
 * @returns {Promise<any>} the data */
export async function ask(operation, variables, options = {}) {
  const sent = fromPage(operation, variables);
  if (sent) return sent.data;
  return (await askWhole(operation, variables, options)).data;
}

/** The token of the visitor, replaced if it has expired. */
export async function currentToken() {
  const login = await keeper;
  return login ? login.freshToken() : person.peek()?.token;
}

/** Asks, and returns the answer with the errors of fields that are missing in it. A token that the service
 * refuses is replaced once, if that is possible; nothing has happened by then.
 * @param {string} operation
 * @param {any} variables
 * @param {{ signal?: AbortSignal, keepalive?: boolean, anonymous?: boolean }} [options] anonymous: as
 *   somebody without a token
 * @returns {Promise<{ data: any, errors: any[] }>} */
export async function askWhole(operation, variables, { anonymous = false, ...options } = {}) {
  const login = anonymous ? null : await keeper;
  const token = anonymous ? undefined : await currentToken();
  const answer = await send(operation, variables, token, options);
  if (!token || codeOf(answer) !== "UNAUTHENTICATED") return taken(answer);
  const again = person.peek()?.token !== token || (await login?.renew());
  const last = again ? await send(operation, variables, person.peek()?.token, options) : answer;
  if (codeOf(last) === "UNAUTHENTICATED") endSession(again ? "The service does not accept your token." : "The token is not valid any more.");
  return taken(last);
}

/** @param {any} answer
 * @returns {string | undefined} */
const codeOf = (answer) => (answer.data ? undefined : answer.errors?.[0]?.extensions?.code);

/** @param {any} answer
 * @returns {{ data: any, errors: any[] }} */
function taken(answer) {
  const wrong = answer.errors?.[0];
  if (wrong && !answer.data) {
    const { code = "INTERNAL", retryable = false } = wrong.extensions ?? {};
    throw new ApiError(wrong.message, code, retryable);
  }
  return { data: answer.data, errors: answer.errors ?? [] };
}

/** Sends an operation. Returns the answer, whatever it is.
 * @param {string} operation
 * @param {any} variables
 * @param {string | undefined} token
 * @param {{ signal?: AbortSignal, keepalive?: boolean }} options
 * @returns {Promise<any>} */
async function send(operation, variables, token, options) {
  const began = performance.now();
  /** @type {Record<string, string>} */
  const headers = { "content-type": "application/json", accept: "application/json" };
  if (token) {
    headers.authorization = `Bearer ${token}`;
    headers["x-vitrine-work"] = "1";
  }
  let answer;
  try {
    const response = await fetch("/graphql", {
      method: "POST",
      headers,
      body: JSON.stringify({ query: textOf(operation), variables }),
      ...options,
    });
    answer = await response.json();
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError("The shop cannot be reached. Are you online?", "OFFLINE", true);
  }
  const millis = Math.round((performance.now() - began) * 10) / 10;
  asked.value = [...asked.value.slice(1 - MAX_SHOWN), { operation, variables, answer, millis }];
  return answer;
}

/** Runs a mutation. Returns its payload; an error of the field is thrown.
 * @param {string} operation
 * @param {any} input */
export async function change(operation, input) {
  const { data, errors } = await askWhole(operation, { input });
  const payload = data && Object.values(data)[0];
  if (!payload) {
    const wrong = errors[0];
    throw new ApiError(wrong?.message ?? "Nothing was changed.", wrong?.extensions?.code ?? "INTERNAL", false);
  }
  return payload;
}

export function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
