// @ts-check
// Who works here, and what their roles open.
import { h } from "../vendor/preact/preact.js";
import { effect, signal, untracked } from "../vendor/preact/signals.js";
import { ActAs, SignIn } from "../shared/account.js";
import { ApiError, askWhole, first } from "../shared/graphql.js";
import { person, whose } from "../shared/session.js";

/** @typedef {{ subject: string, roles: string[] }} Viewer */

/** The caller; null for a stranger, undefined while it is not known.
 * @type {import("../vendor/preact/signals-core.js").Signal<Viewer | null | undefined>} */
export const viewer = signal(person.value ? undefined : null);
/** Why it is not known who the caller is. */
export const trouble = signal("");

/** Asks who the caller is, now and whenever somebody else signs in. */
export const followViewer = () =>
  effect(() => {
    const who = whose.value;
    untracked(() => askViewer(who));
  });

/** @param {string | undefined} who */
function askViewer(who) {
  if (!who) {
    viewer.value = null;
    return;
  }
  // Who signs in again stays on the page, with what is written there.
  if (!viewer.peek()) viewer.value = undefined;
  trouble.value = "";
  askWhole("Viewer", {}).then(
    ({ data }) => {
      if (whose.peek() === who) viewer.value = data.viewer;
    },
    (error) => {
      if (whose.peek() === who) trouble.value = explain(error);
    },
  );
}

/** @param {Error} error */
export function explain(error) {
  if (error instanceof ApiError && error.code === "UNAUTHENTICATED") return "The token is not valid any more. Sign in again.";
  return error.message;
}

/** @param {string[]} roles */
export const may = (roles) => roles.some((role) => viewer.value?.roles.includes(role));

/** @param {string[]} roles */
export const rolesText = (roles) => roles.map((role) => role.toLowerCase()).join(" or ");

/** What a section shows to those who may not use it, or the section.
 * @param {{ name: string, roles: string[], children?: any }} props */
export function Gate({ name, roles, children }) {
  if (trouble.value) return h(Entrance, { title: name, text: trouble.value });
  if (viewer.value === undefined) return h("div", { class: "page waiting", "aria-busy": "true" }, h("p", { class: "hidden" }, "Loading …"));
  if (viewer.value === null) return h(Entrance, { title: name, text: `${name} needs the role ${rolesText(roles)}.` });
  if (!may(roles)) {
    const { subject, roles: own } = viewer.value;
    const has = own.length ? `the role ${own.map((role) => role.toLowerCase()).join(" and ")}` : "no role";
    return h(Entrance, { title: name, text: `${name} needs the role ${rolesText(roles)}. “${subject}” has ${has}.` });
  }
  return children;
}

/** @param {{ title: string, text: string }} props */
export function Entrance({ title, text }) {
  return h(
    "div",
    { class: "page narrow" },
    h("h1", null, title),
    h("p", { role: "status" }, text),
    h("section", { class: "box entrance", "aria-label": "Sign in" }, first.actAs ? h(ActAs, { done: () => {} }) : h(SignIn, { id: "entrance-token", done: () => {} })),
  );
}
