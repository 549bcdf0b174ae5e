// @ts-check
// Runs of imports: how far they are, what they rejected; a run can be stopped and repeated.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { count, percent, total } from "../shared/format.js";
import { change } from "../shared/graphql.js";
import { announcement, navigate } from "../shared/navigation.js";
import { changeOnce, fetchAll, useAsked, useRepeated } from "./data.js";
import { nameOf, sentence } from "./form.js";
import { againPath } from "./new-import.js";
import { Failure, Loading, Table, Time } from "./parts.js";
import { explain } from "./viewer.js";

const POLL_INTERVAL = 3_000;
const RUNNING = ["QUEUED", "READING", "FINISHING"];

/** @param {any} run */
const isRunning = (run) => RUNNING.includes(run.state);

/** @param {string} id */
const runPath = (id) => `/console/imports/${encodeURIComponent(id)}`;

/** @param {{ run: any }} props */
const State = ({ run }) => h("span", { class: `state ${run.state === "DONE" || isRunning(run) ? "idle" : "failing"}` }, run.dryRun && "Dry run: ", nameOf(run.state), isRunning(run) && run.progress !== null && ` ${percent(run.progress)}`);

export function Imports() {
  const { data, error, reload } = useAsked("Imports", { after: null });
  const [more, setMore] = useState(/** @type {any[]} */ ([]));
  const page = data?.imports;
  useRepeated(page?.nodes.some(isRunning) ? reload : null, POLL_INTERVAL);
  if (!page) return h(Loading, { error, reload });
  const pages = [page, ...more];
  const { hasNextPage, endCursor } = pages[pages.length - 1].pageInfo;
  const next = async () => {
    const found = await fetchAll("Imports", { after: endCursor });
    setMore([...more, found.imports]);
  };
  const known = new Set();
  const runs = pages.flatMap((one) => one.nodes).filter((one) => !known.has(one.id) && known.add(one.id));
  return h(
    "div",
    { class: "page" },
    h("div", { class: "heading" }, h("h1", null, "Imports"), h("p", { class: "total" }, total(page.totalCount, "import")), h("a", { class: "button", href: "/console/imports/new" }, "Start an import")),
    h(Failure, { error, reload }),
    runs.length === 0
      ? h("p", { class: "box" }, "No import was recorded yet. Runs of ", h("code", null, "vitrine import"), " are shown here too, except its dry runs.")
      : h(
          Table,
          { label: "Imports", head: ["Began", "System", "Files", "State", "Lines", "Rejected", "Ended"] },
          runs.map((run) =>
            h(
              "tr",
              { key: run.id },
              h("th", { scope: "row" }, h("a", { href: runPath(run.id) }, h(Time, { at: run.startedAt }))),
              h("td", { class: "iso" }, run.system),
              h("td", { class: "iso" }, run.feeds.join(", ")),
              h("td", null, h(State, { run })),
              h("td", { class: "number" }, count(run.counts.lines)),
              h("td", { class: "number" }, count(run.counts.rejected)),
              h("td", null, h(Time, { at: run.endedAt })),
            ),
          ),
        ),
    hasNextPage && h("p", { class: "more" }, h("button", { type: "button", class: "button quiet", onClick: next }, "Show more")),
  );
}

const COUNTS = [
  ["lines", "Lines"],
  ["created", "Created"],
  ["updated", "Changed"],
  ["unchanged", "As before"],
  ["waiting", "Waiting for their product"],
  ["rejected", "Rejected"],
  ["skipped", "Nothing in the mapping"],
  ["droppedValues", "Values dropped"],
];

/** @param {{ id: string }} props */
export function ImportRun({ id }) {
  const { data, error, reload } = useAsked("OneImport", { id, after: null });
  const [more, setMore] = useState(/** @type {any[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const run = data?.import;
  useRepeated(run && isRunning(run) ? reload : null, POLL_INTERVAL);
  if (!data) return h(Loading, { error, reload });
  if (!run) return h("div", { class: "page narrow" }, h("h1", null, "There is no such import"), h("p", null, "It may have been too long ago."));
  const stop = async () => {
    try {
      const { userErrors } = await change("StopImport", { id });
      setWrong(userErrors.map((/** @type {any} */ one) => sentence(one.message)).join(" "));
      if (!userErrors.length) announcement.value = "The import stops within seconds";
      reload();
    } catch (failed) {
      setWrong(explain(/** @type {Error} */ (failed)));
    }
  };
  const again = async (/** @type {boolean} */ dryRun) => {
    const { feeds, tables, mapping } = run.source;
    try {
      const payload = await changeOnce("StartImport", { feeds, tables, mapping, dryRun });
      setWrong(payload.userErrors.map((/** @type {any} */ one) => sentence(one.message)).join(" "));
      if (payload.import) navigate(runPath(payload.import.id));
    } catch (failed) {
      setWrong(explain(/** @type {Error} */ (failed)));
    }
  };
  const pages = [run.rejects, ...more];
  const { hasNextPage, endCursor } = pages[pages.length - 1].pageInfo;
  const next = async () => {
    const found = await fetchAll("OneImport", { id, after: endCursor });
    setMore([...more, found.import.rejects]);
  };
  return h(
    "div",
    { class: "page" },
    h("div", { class: "heading" }, h("h1", { class: "iso" }, `Import of ${run.system}`), h("p", { class: "total", role: "status" }, h(State, { run }))),
    h(Failure, { error, reload }),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
    run.error && h("p", { class: "box warning iso" }, run.error),
    run.state === "CUT_OFF" && h("p", { class: "box warning" }, "Its process has sent no heartbeat since ", h(Time, { at: run.seenAt }), run.source ? ". It restarts within a minute, which completes it." : ". Running it again completes it."),
    h("dl", { class: "facts-list" }, [["Files", run.feeds.join(", ")], ["Process", run.process ?? "–"], ...(run.source ? [["Started by", run.source.startedBy]] : []), ["Began", h(Time, { at: run.startedAt })], ["Ended", h(Time, { at: run.endedAt })]].map(([name, value]) => [h("dt", { key: `${name}` }, name), h("dd", { class: "iso" }, value)])),
    isRunning(run) && h("p", { class: "buttons" }, run.stopRequestedAt ? h("span", { class: "hint" }, "Asked to stop by ", h("span", { class: "iso" }, run.stopRequestedBy), ", ", h(Time, { at: run.stopRequestedAt })) : h("button", { type: "button", class: "button danger", onClick: stop }, "Stop this import")),
    run.dryRun && !isRunning(run) && h("p", { class: "box" }, "Nothing was stored. The numbers say what the outcome of the lines would be."),
    run.source && !isRunning(run) && h("p", { class: "buttons" }, h("button", { type: "button", class: run.dryRun ? "button" : "button quiet", onClick: () => again(false) }, run.dryRun ? "Import it" : "Import it again"), h("a", { class: "button quiet", href: againPath(id) }, "Change the mapping")),
    h(Table, { label: "Lines", head: ["Lines", "Number"] }, COUNTS.map(([name, label]) => h("tr", { key: name }, h("th", { scope: "row" }, label), h("td", { class: "number" }, count(run.counts[name]))))),
    h(
      "section",
      { "aria-labelledby": "rejects" },
      h("h2", { id: "rejects" }, `Rejected lines and dropped values: ${count(run.rejects.totalCount.value)}`),
      run.rejects.kept < run.rejects.totalCount.value && h("p", { class: "hint" }, `The first ${count(run.rejects.kept)} are kept; the file of rejects has all.`),
      run.rejects.totalCount.value > 0 &&
        h(
          Table,
          { label: "Rejects", head: ["File", "Line", "Field", "Reason", "Line was"] },
          pages.flatMap((one) => one.nodes).map((one, at) => h("tr", { key: at }, h("td", { class: "iso" }, one.file), h("td", { class: "number" }, count(one.line)), h("td", { class: "iso" }, one.field), h("td", { class: "iso" }, one.reason), h("td", null, one.outcome))),
        ),
      hasNextPage && h("p", { class: "more" }, h("button", { type: "button", class: "button quiet", onClick: next }, "Show more")),
    ),
    run.report && h("section", { "aria-labelledby": "report" }, h("h2", { id: "report" }, "Report"), h("pre", { class: "box report", tabIndex: 0, role: "region", "aria-label": "Report" }, run.report)),
  );
}
