// @ts-check
// Small things that many pages show.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { count, day, total } from "../shared/format.js";
import { explain } from "./viewer.js";

/** @param {{ rating: number }} props */
export const Stars = ({ rating }) => h("span", { class: `stars s${rating * 2}`, role: "img", "aria-label": `${rating} of 5 stars` });

/** @param {string} at */
const clock = (at) => new Date(at).toISOString().slice(11, 16);

/** A time in UTC, as the API has it.
 * @param {{ at: string | null | undefined }} props */
export const Time = ({ at }) => (at ? h("time", { dateTime: at, title: at }, `${day(at)}, ${clock(at)}`) : h("span", null, "–"));

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** How long ago something was.
 * @param {string} at */
export const ago = (at) => duration(Math.max(1, (Date.now() - Date.parse(at)) / 1_000));

/** @param {{ error: Error | null, reload?: () => void }} props */
export function Failure({ error, reload }) {
  if (!error) return null;
  return h("p", { class: "wrong", role: "alert" }, explain(error), " ", reload && h("button", { type: "button", class: "link", onClick: reload }, "Try again"));
}

/** What a page shows before its first answer, or instead of it.
 * @param {{ error: Error | null, reload?: () => void }} props */
export const Loading = ({ error, reload }) =>
  error ? h("div", { class: "page" }, h(Failure, { error, reload })) : h("div", { class: "page waiting", "aria-busy": "true" }, h("p", { class: "hidden" }, "Loading …"));

/** A count with what is known of its accuracy.
 * @param {{ value: number, relation: string, relativeError?: number }} number */
export function labelled({ value, relation, relativeError }) {
  const text = { EXACT: "", AT_LEAST: "at least ", ESTIMATE: "about " }[relation] ?? "";
  const error = relativeError ? ` ± ${Math.max(1, Math.round(relativeError * 100))}%` : "";
  return `${text}${count(value)}${error}`;
}

/** A table that may be wider than the page.
 * @param {{ label: string, head: any[], children?: any, class?: string }} props */
export const Table = ({ label, head, children, class: name = "" }) =>
  h(
    "div",
    { class: "wide", tabIndex: 0, role: "region", "aria-label": `${label}, table` },
    h("table", { class: `grid ${name}` }, h("caption", { class: "hidden" }, label), h("thead", null, h("tr", null, head.map((cell, at) => h("th", { scope: "col", key: at }, cell)))), h("tbody", null, children)),
  );

/** A part of a page that is opened to make something.
 * @param {{ label: string, children?: any }} props */
export function Opened({ label, children }) {
  const [open, setOpen] = useState(false);
  return h("details", { class: "opened", open, onToggle: (/** @type {any} */ event) => setOpen(event.currentTarget.open) }, h("summary", { class: "button quiet" }, label), open && h("div", { class: "box" }, children));
}

/** @param {{ value: number, relation: string } | undefined} number
 * @param {string} noun */
export const totalText = (number, noun) => (number ? total(number, noun) : "");
