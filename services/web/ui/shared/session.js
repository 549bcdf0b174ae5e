// @ts-check
// Who the visitor is: a token, kept for this tab only.
import { computed, signal } from "../vendor/preact/signals.js";

/** What is kept of a sign-in at an identity provider. `expires` and `lifetime` are in milliseconds,
 * 0 if the provider has not said it; `id` stays the same when the token is refreshed.
 * @typedef {{ id: string, refresh: string | null, idToken: string | null, expires: number, lifetime: number }} Kept */
/** @typedef {{ label: string, subject: string, token: string, login?: Kept }} Person */

const KEY = "vitrine.person";

/** @returns {Person | null} */
function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  } catch {
    return null;
  }
}

/** The visitor; null for a stranger. */
export const person = signal(stored());
/** Why the visitor's token is not valid any more; empty until that happens. */
export const ended = signal("");

/** The same for as long as the visitor is signed in, also when the token is refreshed. */
export const whose = computed(() => person.value?.login?.id ?? person.value?.token);

/** @param {Person | null} next */
export function actAs(next) {
  ended.value = "";
  become(next);
}

/** @param {Person | null} next */
export function become(next) {
  try {
    if (next) sessionStorage.setItem(KEY, JSON.stringify(next));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Without storage the token lasts until the page is closed.
  }
  person.value = next;
}

/** Says that the token is not valid any more, and forgets what could replace it. The token stays, so that
 * pages can keep what was written; the service refuses it.
 * @param {string} reason */
export function endSession(reason) {
  const who = person.peek();
  if (!who || ended.peek()) return;
  become({ ...who, login: who.login && { ...who.login, refresh: null, idToken: null, expires: 0 } });
  ended.value = reason;
}

/** As whom one may act, in development.
 * @returns {Promise<Person[]>} */
export async function people() {
  const response = await fetch("/act-as", { method: "POST" });
  if (!response.ok) throw new Error("This address does not offer it.");
  return response.json();
}
