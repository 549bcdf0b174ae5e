// @ts-check
// Who changed a product, a category or a spec key, and how; each earlier revision can be restored.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { announcement } from "../shared/navigation.js";
import { changeOnce, fetchAll, useAsked } from "./data.js";
import { sentence } from "./form.js";
import { Failure, Table, Time } from "./parts.js";
import { explain } from "./viewer.js";

/** @type {Record<string, string>} */
const ORIGINS = { IMPORT: "Import", KEY_MERGE: "Merge of keys", RELEASE: "Given back to the feeds" };

/** @param {{ entry: any }} props */
const Who = ({ entry }) => [ORIGINS[entry.origin] && h("span", { key: "origin", class: "hint" }, `${ORIGINS[entry.origin]}: `), h("span", { key: "name", class: "iso" }, entry.changedBy)];

/** @param {{ entry: any }} props */
function What({ entry }) {
  if (entry.previousRevision === null) return h("span", null, "Created");
  const value = (/** @type {string | null} */ text) => (text === null ? h("span", { class: "hint" }, "nothing") : h("span", { class: "iso" }, text));
  return h(
    "div",
    null,
    entry.revertedTo !== null && h("p", null, `Restored revision ${entry.revertedTo}`),
    entry.fields.length === 0 && entry.keptFields.length === 0 && h("p", { class: "hint" }, "Nothing that is shown here"),
    h("ul", { class: "notes" }, entry.fields.map((/** @type {any} */ one) => h("li", { key: one.field }, h("b", { class: "iso" }, one.field), ": ", value(one.before), " → ", value(one.after)))),
    entry.keptFields.length > 0 && h("p", { class: "hint iso" }, `Left as people have edited them: ${entry.keptFields.join(", ")}`),
  );
}

/** The history of a thing at one revision: with the next revision it is another element.
 * @param {{ id: string, revision: number, operation: string, input: any, field: string, reload: (thing: any) => void }} props
 * `operation` restores a revision; `field` of its payload has the thing. */
export function History({ id, revision, operation, input, reload, field }) {
  const { data, error, reload: again } = useAsked("History", { id, after: null });
  const [more, setMore] = useState(/** @type {any[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const [stale, setStale] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const page = data?.history;
  const pages = page ? [page, ...more] : [];
  const last = pages[pages.length - 1]?.pageInfo;
  const next = async () => {
    try {
      setMore([...more, (await fetchAll("History", { id, after: last.endCursor })).history]);
    } catch (failed) {
      setWrong(explain(/** @type {Error} */ (failed)));
    }
  };
  const restore = async (/** @type {number} */ wanted) => {
    setBusy(true);
    try {
      const payload = await changeOnce(operation, { ...input, revision: wanted, expectedRevision: revision });
      setWrong(payload.userErrors.map((/** @type {any} */ one) => sentence(one.message)).join(" "));
      if (!payload.userErrors.length) {
        announcement.value = `Revision ${wanted} is restored`;
        reload(payload[field]);
      }
      setStale(payload.userErrors.some((/** @type {any} */ one) => one.code === "REVISION_CONFLICT") ? payload[field] : null);
    } catch (failed) {
      setWrong(explain(/** @type {Error} */ (failed)));
    }
    setBusy(false);
  };
  const entries = pages.flatMap((one) => one.nodes);
  return h(
    "section",
    { class: "stack", "aria-labelledby": "history" },
    h("h2", { id: "history" }, "History"),
    h(Failure, { error, reload: again }),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong, stale && [" ", h("button", { key: "now", type: "button", class: "link", onClick: () => reload(stale) }, "Show it as it is now")]),
    page &&
      (entries.length === 0
        ? h("p", { class: "hint" }, "No change since it was created or imported.")
        : h(
            Table,
            { label: "History", head: ["When", "Who", "What", ""] },
            entries.map((entry) =>
              h(
                "tr",
                { key: entry.revision },
                h("th", { scope: "row" }, h(Time, { at: entry.changedAt }), h("div", { class: "hint" }, `revision ${entry.revision}`)),
                h("td", null, h(Who, { entry })),
                h("td", null, h(What, { entry })),
                h("td", null, entry.previousRevision !== null && h("button", { type: "button", class: "button quiet small", disabled: busy, onClick: () => restore(entry.previousRevision) }, `Restore revision ${entry.previousRevision}`)),
              ),
            ),
          )),
    last?.hasNextPage && h("p", { class: "more" }, h("button", { type: "button", class: "button quiet", onClick: next }, "Show more")),
  );
}
