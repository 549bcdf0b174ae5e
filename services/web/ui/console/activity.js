// @ts-check
// Views, carts and purchases of a product over time, as drawings and as a table.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { count, day } from "../shared/format.js";
import { useAsked } from "./data.js";
import { Failure, Table, labelled } from "./parts.js";

const HOUR = 3_600_000;
/** @type {Record<string, { label: string, hours: number, resolution: string }>} */
const RANGES = {
  day: { label: "24 hours", hours: 24, resolution: "HOUR" },
  month: { label: "30 days", hours: 30 * 24, resolution: "DAY" },
  quarter: { label: "90 days", hours: 90 * 24, resolution: "DAY" },
};
/** @type {["views" | "carts" | "purchases", string][]} */
const SERIES = [
  ["views", "Views"],
  ["carts", "Put into carts"],
  ["purchases", "Units bought"],
];
const WIDTH = 360;
const HEIGHT = 90;
const FLOOR = 70;

/** @param {{ id: string }} props */
export function Activity({ id }) {
  const [open, setOpen] = useState(false);
  return h(
    "details",
    { class: "activity", open, onToggle: (/** @type {any} */ event) => setOpen(event.currentTarget.open) },
    h("summary", null, h("h2", null, "Activity")),
    open && h(Shown, { id }),
  );
}

/** @param {{ id: string }} props */
function Shown({ id }) {
  const [chosen, setChosen] = useState("month");
  const { hours, resolution } = RANGES[chosen];
  // The end is the end of this hour, so that the same question is asked for as long.
  const end = Math.ceil(Date.now() / HOUR) * HOUR;
  const range = { from: new Date(end - hours * HOUR).toISOString(), to: new Date(end).toISOString() };
  const { data, error, loading, reload } = useAsked("Activity", { id, range, resolution });
  const activity = data?.product?.activity;
  const counters = data?.product?.counters;
  return h(
    "div",
    { "aria-busy": String(loading) },
    h(
      "div",
      { class: "tools" },
      h("label", { for: "range" }, "The last"),
      h("select", { id: "range", value: chosen, onChange: (/** @type {any} */ event) => setChosen(event.currentTarget.value) }, Object.entries(RANGES).map(([name, one]) => h("option", { key: name, value: name }, one.label))),
      counters && h("p", { class: "hint" }, `Sold so far: ${labelled(counters.unitsSold)}. In 30 days: ${labelled(counters.viewsInMonth)} views, ${labelled(counters.cartsInMonth)} carts, ${labelled(counters.unitsSoldInMonth)} sold.`),
    ),
    h(Failure, { error, reload }),
    activity && h("div", { class: "charts" }, SERIES.map(([name, label]) => h(Bars, { key: name, label, total: activity[name], points: activity.points, of: name, resolution }))),
    activity && h(AsTable, { points: activity.points, resolution }),
  );
}

/** @param {string} at
 * @param {string} resolution */
const moment = (at, resolution) => (resolution === "HOUR" ? `${day(at)}, ${at.slice(11, 16)}` : day(at));

/** @param {{ label: string, total: any, points: any[], of: string, resolution: string }} props */
function Bars({ label, total, points, of, resolution }) {
  const most = Math.max(1, ...points.map((point) => point[of]));
  const step = WIDTH / Math.max(1, points.length);
  return h(
    "figure",
    { class: "bars-chart" },
    h("figcaption", null, h("b", null, label), ` ${labelled(total)}`),
    h(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${label}: at most ${count(most)} in ${resolution === "HOUR" ? "an hour" : "a day"}` },
      h("line", { class: "grid", x1: 0, x2: WIDTH, y1: FLOOR, y2: FLOOR }),
      points.map((point, at) => {
        const height = Math.round((point[of] / most) * (FLOOR - 8) * 10) / 10;
        return h("rect", { key: point.at, class: "bar-one", x: Math.round(at * step * 10) / 10, width: Math.max(1, Math.round(step * 8) / 10), y: FLOOR - height, height });
      }),
      points.length > 0 && [
        h("text", { key: "a", x: 0, y: HEIGHT - 4 }, moment(points[0].at, resolution)),
        h("text", { key: "b", x: WIDTH, y: HEIGHT - 4, "text-anchor": "end" }, moment(points[points.length - 1].at, resolution)),
        h("text", { key: "c", x: 0, y: 8 }, `${count(most)}`),
      ],
    ),
  );
}

/** @param {{ points: any[], resolution: string }} props */
function AsTable({ points, resolution }) {
  return h(
    "details",
    null,
    h("summary", null, "Show as a table"),
    h(
      Table,
      { label: "Activity", head: [resolution === "HOUR" ? "Hour" : "Day", ...SERIES.map(([, label]) => label)] },
      points.map((point) => h("tr", { key: point.at }, h("th", { scope: "row" }, moment(point.at, resolution)), SERIES.map(([name]) => h("td", { key: name, class: "number" }, count(point[name]))))),
    ),
  );
}
