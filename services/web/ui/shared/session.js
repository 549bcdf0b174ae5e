// @ts-check
// Who the visitor is: a token, kept for this tab only.
import { signal } from "../vendor/preact/signals.js";

/** @typedef {{ label: string, subject: string, token: string }} Person */

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

/** @param {Person | null} next */
export function actAs(next) {
  try {
    if (next) sessionStorage.setItem(KEY, JSON.stringify(next));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Without storage the token lasts until the page is closed.
  }
  person.value = next;
}

/** As whom one may act, in development.
 * @returns {Promise<Person[]>} */
export async function people() {
  const response = await fetch("/act-as", { method: "POST" });
  if (!response.ok) throw new Error("This address does not offer it.");
  return response.json();
}
