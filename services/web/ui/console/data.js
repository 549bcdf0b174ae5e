// @ts-check
// Reads and changes: each page asks when it is opened, and again when something was changed.
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { ApiError, askWhole, change, randomKey } from "../shared/graphql.js";
import { whose } from "../shared/session.js";

/** Asks. What is missing in the answer because of an error is an error.
 * @param {string} operation
 * @param {any} variables
 * @param {{ signal?: AbortSignal, anonymous?: boolean }} [options]
 * @returns {Promise<any>} the data */
export async function fetchAll(operation, variables, options) {
  const { data, errors } = await askWhole(operation, variables, options);
  const [wrong] = errors;
  if (wrong) throw new ApiError(wrong.message, wrong.extensions?.code ?? "INTERNAL", wrong.extensions?.retryable ?? false);
  return data;
}

/** Asks for what a page shows. While something new is loaded, the last answer stays.
 * @param {string} operation
 * @param {any} variables
 * @returns {{ data: any, error: Error | null, loading: boolean, reload: () => void }} */
export function useAsked(operation, variables) {
  const wanted = JSON.stringify(variables);
  const token = whose.value;
  const [state, setState] = useState({ data: /** @type {any} */ (undefined), wanted: "", error: /** @type {Error | null} */ (null) });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stale = new AbortController();
    fetchAll(operation, variables, { signal: stale.signal }).then(
      (data) => setState({ data, wanted, error: null }),
      (error) => {
        if (!stale.signal.aborted) setState((last) => ({ ...last, wanted, error }));
      },
    );
    return () => stale.abort();
  }, [wanted, token, round]);
  return { data: state.data, error: state.error, loading: state.wanted !== wanted, reload: () => setRound((last) => last + 1) };
}

/** All pages of a list, one after the other, up to a number of rows.
 * @param {string} operation
 * @param {string} field
 * @param {(rows: any[]) => void} [arrived] told after each page
 * @param {any} [variables]
 * @param {number} [most] */
export async function fetchPages(operation, field, arrived, variables = {}, most = 5_000) {
  /** @type {any[]} */
  const rows = [];
  /** @type {string | null} */
  let after = null;
  do {
    /** @type {any} */
    const page = (await fetchAll(operation, { ...variables, after }))[field];
    rows.push(...page.nodes);
    arrived?.(rows);
    after = page.pageInfo.hasNextPage && rows.length < most ? page.pageInfo.endCursor : null;
  } while (after);
  return rows;
}

/** The keys of inputs whose outcome is not known, so that sending them again does nothing twice.
 * @type {Map<string, string>} */
const underWay = new Map();

/** Runs a mutation that takes an idempotency key.
 * @param {string} operation
 * @param {any} input
 * @returns {Promise<any>} the payload */
export async function changeOnce(operation, input) {
  const text = operation + JSON.stringify(input);
  const idempotencyKey = underWay.get(text) ?? randomKey();
  underWay.set(text, idempotencyKey);
  const payload = await change(operation, { ...input, idempotencyKey });
  underWay.delete(text);
  return payload;
}

/** Calls a function again and again while a page is shown, unless it is null or hidden.
 * @param {(() => void) | null} act
 * @param {number} millis */
export function useRepeated(act, millis) {
  const latest = useRef(act);
  latest.current = act;
  const runs = act !== null;
  useEffect(() => {
    if (!runs) return undefined;
    const timer = setInterval(() => document.visibilityState === "visible" && latest.current?.(), millis);
    return () => clearInterval(timer);
  }, [runs, millis]);
}

/** @param {string} key
 * @param {any} fallback
 * @param {Storage} [storage] */
export function stored(key, fallback, storage = localStorage) {
  try {
    return JSON.parse(storage.getItem(key) ?? "null") ?? fallback;
  } catch {
    return fallback;
  }
}

/** @param {string} key
 * @param {any} value null forgets it
 * @param {Storage} [storage] */
export function keep(key, value, storage = localStorage) {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, JSON.stringify(value));
  } catch {
    // Without storage it lasts until the page is closed.
  }
}

/** A draft that outlasts the page, for this tab. Setting null begins afresh.
 * @template T
 * @param {string} key
 * @param {() => T} fresh
 * @returns {[T, (next: T | null) => void]} */
export function useKept(key, fresh) {
  const [draft, setDraft] = useState(() => /** @type {T} */ (stored(key, null, sessionStorage) ?? fresh()));
  const set = (/** @type {T | null} */ next) => {
    setDraft(next ?? fresh());
    keep(key, next, sessionStorage);
  };
  return [draft, set];
}
