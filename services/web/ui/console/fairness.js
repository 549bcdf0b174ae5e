// @ts-check
// Whether low and high ratings are treated alike: numbers with their uncertainty, not colours.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { count } from "../shared/format.js";
import { navigate, place } from "../shared/navigation.js";
import { useAsked } from "./data.js";
import { Failure, Loading, Stars, Table } from "./parts.js";

const DAY = 86_400_000;
const DAYS = 90;
/** The normal quantile of 95%. */
const Z = 1.96;

/** @typedef {{ rating?: number, published: number, rejected: number }} Decisions */

/** @param {number} millis */
const dayOf = (millis) => new Date(millis).toISOString().slice(0, 10);

/** The interval in which the true share lies with 95% confidence (Wilson).
 * @param {number} part
 * @param {number} all
 * @returns {[number, number]} */
export function interval(part, all) {
  const share = part / all;
  const middle = share + (Z * Z) / (2 * all);
  const width = Z * Math.sqrt((share * (1 - share)) / all + (Z * Z) / (4 * all * all));
  const scale = 1 + (Z * Z) / all;
  return [Math.max(0, (middle - width) / scale), Math.min(1, (middle + width) / scale)];
}

/** The interval of the difference of two shares with 95% confidence (Newcombe).
 * @param {Decisions} one
 * @param {Decisions} other */
export function difference(one, other) {
  const share = (/** @type {Decisions} */ row) => row.rejected / (row.published + row.rejected);
  const [a, b] = [share(one), share(other)];
  const [lowA, highA] = interval(one.rejected, one.published + one.rejected);
  const [lowB, highB] = interval(other.rejected, other.published + other.rejected);
  return { value: a - b, low: a - b - Math.hypot(a - lowA, highB - b), high: a - b + Math.hypot(highA - a, b - lowB) };
}

/** @param {Decisions[]} rows
 * @returns {Decisions} */
const sum = (rows) => rows.reduce((all, row) => ({ published: all.published + row.published, rejected: all.rejected + row.rejected }), { published: 0, rejected: 0 });

/** @param {number} share */
const percent = (share) => `${(share * 100).toFixed(1)}%`;

export function Fairness() {
  const { query } = place.value;
  const from = query.get("from") ?? dayOf(Date.now() - DAYS * DAY);
  const to = query.get("to") ?? dayOf(Date.now() + DAY);
  const { data, error, loading, reload } = useAsked("Fairness", { from: `${from}T00:00:00Z`, to: `${to}T00:00:00Z` });
  const report = data?.fairnessReport;
  return h(
    "div",
    { class: "page" },
    h("h1", null, "Fairness of moderation"),
    h("p", { class: "hint" }, "Decisions by stars. Each share of rejections stands with the interval in which the true share lies with 95% confidence: with few decisions it is wide, and says little."),
    h(Period, { key: `${from}${to}`, from, to }),
    h(Failure, { error, reload }),
    report ? h("div", { "aria-busy": String(loading) }, h(Verdict, { rows: report.byRating }), h(ByRating, { rows: report.byRating }), h(ByModerator, { rows: report.byModerator })) : !error && h(Loading, { error: null }),
  );
}

/** @param {{ from: string, to: string }} props */
function Period({ from, to }) {
  const [start, setStart] = useState(from);
  const [end, setEnd] = useState(to);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (start && end) navigate(`/console/fairness?from=${start}&to=${end}`, { stay: true });
  };
  return h(
    "form",
    { class: "tools", onSubmit: submit },
    h("label", { for: "from" }, "From"),
    h("input", { id: "from", type: "date", required: true, value: start, onInput: (/** @type {any} */ event) => setStart(event.currentTarget.value) }),
    h("label", { for: "to" }, "to before"),
    h("input", { id: "to", type: "date", required: true, value: end, onInput: (/** @type {any} */ event) => setEnd(event.currentTarget.value) }),
    h("button", { type: "submit", class: "button quiet" }, "Show"),
  );
}

/** Compares one and two stars with four and five.
 * @param {{ rows: Decisions[] }} props */
function Verdict({ rows }) {
  const low = sum(rows.filter((row) => Number(row.rating) <= 2));
  const high = sum(rows.filter((row) => Number(row.rating) >= 4));
  if (!(low.published + low.rejected) || !(high.published + high.rejected)) {
    return h("p", { class: "box" }, "There are too few decisions to compare low with high ratings.");
  }
  const { value, low: least, high: most } = difference(low, high);
  const range = `(${(least * 100).toFixed(1)} to ${(most * 100).toFixed(1)} points with 95% confidence)`;
  const points = `${Math.abs(value * 100).toFixed(1)} percentage points`;
  if (least > 0) return h("p", { class: "box warning" }, h("b", null, "Warning: "), `reviews of 1 and 2 stars are rejected clearly more often than those of 4 and 5 stars, by ${points} ${range}.`);
  if (most < 0) return h("p", { class: "box warning" }, h("b", null, "Warning: "), `reviews of 4 and 5 stars are rejected clearly more often than those of 1 and 2 stars, by ${points} ${range}.`);
  return h("p", { class: "box" }, `No clear difference between reviews of 1 and 2 stars and those of 4 and 5: ${points} ${range}.`);
}

/** @param {Decisions} row */
function cells(row) {
  const all = row.published + row.rejected;
  const [low, high] = all ? interval(row.rejected, all) : [0, 0];
  return [
    h("td", { class: "number", key: "p" }, count(row.published)),
    h("td", { class: "number", key: "r" }, count(row.rejected)),
    h("td", { class: "number", key: "s" }, all ? percent(row.rejected / all) : "–"),
    h("td", { class: "number", key: "i" }, all ? `${percent(low)} to ${percent(high)}` : "–"),
  ];
}

const COLUMNS = ["Published", "Rejected", "Share rejected", "95% confidence"];

/** @param {{ rows: Decisions[] }} props */
function ByRating({ rows }) {
  return h(
    "section",
    null,
    h("h2", null, "By stars"),
    h(
      Table,
      { label: "Decisions by stars", head: ["Stars", ...COLUMNS] },
      rows.map((row) => h("tr", { key: row.rating }, h("th", { scope: "row" }, h(Stars, { rating: Number(row.rating) })), cells(row))),
      h("tr", { class: "sum" }, h("th", { scope: "row" }, "All"), cells(sum(rows))),
    ),
  );
}

/** @param {{ rows: any[] }} props */
function ByModerator({ rows }) {
  return h(
    "section",
    null,
    h("h2", null, "By moderator"),
    rows.length === 0
      ? h("p", { class: "hint" }, "Nobody has decided anything in this time.")
      : h(
          Table,
          { label: "Decisions by moderator", head: ["Moderator", ...COLUMNS, "Low minus high ratings"] },
          rows.map((row) => {
            const low = sum(row.byRating.filter((/** @type {any} */ one) => one.rating <= 2));
            const high = sum(row.byRating.filter((/** @type {any} */ one) => one.rating >= 4));
            const known = low.published + low.rejected > 0 && high.published + high.rejected > 0;
            const gap = known ? difference(low, high) : null;
            return h(
              "tr",
              { key: row.moderator },
              h("th", { scope: "row", class: "iso" }, row.moderator),
              cells(row),
              h("td", { class: "number" }, gap ? `${(gap.value * 100).toFixed(1)} points (${(gap.low * 100).toFixed(1)} to ${(gap.high * 100).toFixed(1)})` : "–"),
            );
          }),
        ),
  );
}
