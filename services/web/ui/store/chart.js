// @ts-check
// The average rating of each month, as a drawing and as a table.
import { h } from "../vendor/preact/preact.js";
import { average, count, monthName } from "../shared/format.js";

const WIDTH = 360;
const HEIGHT = 110;
const LEFT = 18;
const TOP = 10;
const BOTTOM = 88;

/** @param {{ months: { month: string, count: number, average: number | null }[] }} props */
export function Trend({ months }) {
  const rated = months.filter((month) => month.count > 0);
  if (rated.length < 2) return null;
  const step = (WIDTH - LEFT - 8) / Math.max(1, months.length - 1);
  const x = (/** @type {number} */ at) => Math.round((LEFT + at * step) * 10) / 10;
  const y = (/** @type {number} */ value) => Math.round((BOTTOM - ((value - 1) / 4) * (BOTTOM - TOP)) * 10) / 10;
  // A month without reviews is a gap, not a zero.
  let pen = "M";
  let path = "";
  months.forEach((month, at) => {
    if (month.average == null) {
      pen = "M";
      return;
    }
    path += `${pen}${x(at)} ${y(month.average)}`;
    pen = "L";
  });
  const most = Math.max(...months.map((month) => month.count));
  const last = rated[rated.length - 1];
  return h(
    "figure",
    { class: "trend" },
    h(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Average rating by month; ${average(last.average ?? 0)} in ${monthName(last.month)}` },
      [1, 3, 5].map((stars) => [
        h("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y(stars), y2: y(stars) }),
        h("text", { x: 0, y: y(stars) + 4 }, stars),
      ]),
      months.map((month, at) => {
        const height = most ? (month.count / most) * 30 : 0;
        return h("rect", { class: "volume", x: x(at) - 5, width: 10, y: BOTTOM - height, height });
      }),
      h("path", { class: "line", d: path }),
      months.map((month, at) => month.average != null && h("circle", { class: "dot", cx: x(at), cy: y(month.average), r: 3 })),
      h("text", { x: x(0), y: HEIGHT - 4 }, monthName(months[0].month)),
      h("text", { x: WIDTH - 8, y: HEIGHT - 4, "text-anchor": "end" }, monthName(months[months.length - 1].month)),
    ),
    h(
      "details",
      null,
      h("summary", null, "Show as a table"),
      h(
        "table",
        null,
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Month"), h("th", { scope: "col" }, "Average"), h("th", { scope: "col" }, "Reviews"))),
        h("tbody", null, months.map((month) => h("tr", { key: month.month }, h("th", { scope: "row" }, monthName(month.month)), h("td", null, month.average == null ? "–" : average(month.average)), h("td", null, count(month.count))))),
      ),
    ),
  );
}
