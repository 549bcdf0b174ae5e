// @ts-check
// One change of many products. Chosen ones are changed one after the other with the revision that was seen, so that
// nobody's work is lost. All that match are changed by a bulk change of the service, which goes on when the page is left.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { count, plural } from "../shared/format.js";
import { change } from "../shared/graphql.js";
import { announcement } from "../shared/navigation.js";
import { changeOnce, useAsked, useRepeated } from "./data.js";
import { Field, sentence } from "./form.js";
import { Lines } from "./edit.js";
import { Failure, Loading } from "./parts.js";
import { SpecRow, emptyRow, inputsOf } from "./product-specs.js";
import { fieldsOf, labelOf, shapeOf } from "./schema.js";
import { draftOf, valueOf } from "./values.js";
import { explain } from "./viewer.js";

/** @typedef {{ id: string, name: string, revision: number }} Chosen */
/** @typedef {{ product: Chosen, message: string }} Failed */

/** Chosen products, all that match, or a bulk change that was started.
 * @typedef {{ products?: Chosen[], matching?: { filter: any, search: string | null }, total?: string, job?: string }} Selection */

const FIELDS = ["status", "category", "brand", "supplierId", "price"];
const POLL_INTERVAL = 1_000;
const OPEN = ["COLLECTING", "RUNNING"];

/** @param {{ types: import("./schema.js").Types, selection: Selection, onDone: () => void }} props */
export function Bulk({ types, selection, onDone }) {
  const products = selection.products ?? [];
  const what = selection.total ?? plural(products.length, "product");
  const [job, setJob] = useState(selection.job ?? "");
  const [wrong, setWrong] = useState("");
  const [field, setField] = useState("status");
  const [draft, setDraft] = useState(/** @type {any} */ (""));
  const [row, setRow] = useState(emptyRow());
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [progress, setProgress] = useState(/** @type {{ done: number, failed: Failed[], running: boolean } | null} */ (null));
  const stopped = useRef(false);
  // Who closes the dialog, stops.
  useEffect(() => () => void (stopped.current = true), []);
  const known = fieldsOf(types, "UpdateProductInput").filter((one) => FIELDS.includes(one.name));
  const chosen = known.find((one) => one.name === field);
  const choose = (/** @type {any} */ event) => {
    const next = known.find((one) => one.name === event.currentTarget.value);
    setField(event.currentTarget.value);
    setDraft(next ? draftOf(types, shapeOf(next.type), null) : "");
    setRefusals([]);
  };
  const changeOf = () => {
    /** @type {any[]} */
    const invalid = [];
    if (!chosen) {
      const specs = inputsOf(row, 0, invalid);
      if (!specs.length && !invalid.length) invalid.push({ path: ["specs", "0", "key"], message: "is missing" });
      setRefusals(invalid);
      return invalid.length ? null : { operation: "SetSpecs", idField: "productId", input: { specs } };
    }
    const value = valueOf(types, shapeOf(chosen.type), draft, { path: [field], refusals: invalid });
    if (value === null && ["status", "category"].includes(field)) invalid.push({ path: [field], message: "is missing" });
    setRefusals(invalid);
    return invalid.length ? null : { operation: "UpdateProduct", idField: "id", input: { [field]: value } };
  };
  const begin = async (/** @type {boolean} */ dryRun) => {
    const change = changeOf();
    if (!change) return;
    const { specs, ...fields } = change.input;
    try {
      const payload = await changeOnce("StartBulkChange", { ...selection.matching, change: specs ? { setSpecs: specs } : fields, dryRun });
      // The form has one field: what is refused of it stands there.
      setRefusals(payload.userErrors.map((/** @type {any} */ one) => ({ ...one, path: one.path[1] === "setSpecs" ? ["specs", ...one.path.slice(2)] : one.path.slice(1) })));
      setWrong(payload.userErrors.filter((/** @type {any} */ one) => one.path[0] !== "change").map((/** @type {any} */ one) => sentence(one.message)).join(" "));
      setJob(payload.userErrors.length ? "" : payload.bulkChange.id);
    } catch (failed) {
      setJob("");
      setWrong(explain(/** @type {Error} */ (failed)));
    }
  };
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (selection.matching) return void begin(false);
    const change = changeOf();
    if (!change || progress?.running) return;
    stopped.current = false;
    /** @type {Failed[]} */
    const failed = [];
    let done = 0;
    for (const product of products) {
      if (stopped.current) break;
      setProgress({ done, failed: [...failed], running: true });
      const message = await applied(change, product);
      if (message) failed.push({ product, message });
      done += 1;
    }
    setProgress({ done, failed, running: false });
    announcement.value = `${plural(done - failed.length, "product")} changed, ${failed.length} not`;
  };
  if (job) return h(Job, { key: job, id: job, onChange: selection.matching && (() => begin(false)), onBack: selection.matching && (() => setJob("")), onDone });
  if (progress) return h(Progress, { progress, all: products.length, onStop: () => (stopped.current = true), onDone });
  return h(
    "form",
    { class: "stack", noValidate: true, onSubmit: run },
    h("h2", null, `Change ${what}`),
    h("div", { class: "field" }, h("label", { for: "bulk-field" }, "What"), h("select", { id: "bulk-field", value: field, onChange: choose }, known.map((one) => h("option", { key: one.name, value: one.name }, labelOf(one.name))), h("option", { value: "spec" }, "A spec"))),
    chosen ? h(Field, { key: field, types, field: chosen, draft, onChange: setDraft, refusals, path: [field], id: "bulk", terse: true }) : h(SpecRow, { row, id: "bulk-spec", refusals, onChange: setRow }),
    h("p", { class: "hint" }, selection.matching ? "The service changes all that match, each by itself, also when this page is left. One that no longer matches when its turn comes is left alone." : "Each product is changed by itself. One that somebody has changed since this list was loaded is left alone, and named at the end."),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
    h("p", { class: "buttons" }, h("button", { type: "submit", class: "button" }, `Change ${what}`), selection.matching && h("button", { type: "button", class: "button quiet", onClick: () => begin(true) }, "Try it first")),
  );
}

/** A bulk change of the service: how far it is, and what it left alone.
 * @param {{ id: string, onChange?: () => void, onBack?: () => void, onDone: () => void }} props */
function Job({ id, onChange, onBack, onDone }) {
  const { data, error, reload } = useAsked("OneBulkChange", { id });
  const job = data?.bulkChange;
  const running = job && OPEN.includes(job.state);
  const [wrong, setWrong] = useState("");
  const last = useRef(/** @type {any} */ (null));
  // Asking again would give up a question that is not answered yet.
  const again = () => {
    if (last.current === (error ?? data)) return;
    last.current = error ?? data;
    reload();
  };
  useRepeated(running ? again : null, POLL_INTERVAL);
  useEffect(() => {
    if (job && !running) announcement.value = headline(job);
  }, [running]);
  if (!data) return h(Loading, { error, reload });
  if (!job) return h("p", null, "There is no such bulk change, or no longer.");
  const { products, waiting, refused, skipped } = job.counts;
  const stop = async () => {
    try {
      await change("StopBulkChange", { id });
      setWrong("");
    } catch (failed) {
      setWrong(explain(/** @type {Error} */ (failed)));
    }
    reload();
  };
  return h(
    "div",
    { class: "stack" },
    h("h2", null, running ? (job.dryRun ? "Trying …" : "Changing …") : headline(job)),
    h("progress", { max: Math.max(1, products), value: running ? products - waiting : products, "aria-label": "Products that were gone through" }),
    h("p", { class: "hint" }, `${count(products - waiting)} of ${count(products)}${job.state === "STOPPED" ? ", then stopped" : ""}. ${count(job.counts.unchanged)} were as wanted.`),
    h(Failure, { error, reload }),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
    refused > 0 && h(Left, { title: `${plural(refused, "product")} refused:`, items: job.refused.nodes }),
    skipped > 0 && h(Left, { title: `${plural(skipped, "product")} no longer matched:`, items: job.skipped.nodes }),
    running && waiting === products && h("p", { class: "hint" }, "It begins within seconds, or when the bulk changes before it have ended."),
    h(
      "p",
      { class: "buttons" },
      running && h("button", { type: "button", class: "button quiet", disabled: job.stopRequestedAt !== null, onClick: stop }, "Stop"),
      !running && job.dryRun && onChange && job.state === "DONE" && h("button", { type: "button", class: "button", onClick: onChange }, "Change all that match"),
      !running && job.dryRun && onBack && h("button", { type: "button", class: "button quiet", onClick: onBack }, "Back"),
      !running && !(job.dryRun && onBack) && h("button", { type: "button", class: "button", onClick: onDone }, "Done"),
    ),
  );
}

/** The bulk changes that go on, which anybody may have started.
 * @param {{ open: (job: string) => void }} props */
export function OpenBulkChanges({ open }) {
  const { data } = useAsked("OpenBulkChanges", {});
  const going = (data?.bulkChanges.nodes ?? []).filter((/** @type {any} */ one) => OPEN.includes(one.state));
  return going.map((/** @type {any} */ one) => h("button", { key: one.id, type: "button", class: "link", onClick: () => open(one.id) }, `${one.dryRun ? "Trial" : "Bulk change"} of ${plural(one.counts.products, "product")} by ${one.startedBy} goes on`));
}

/** @param {any} job */
const headline = (job) => (job.dryRun ? `${plural(job.counts.changed, "product")} would be changed` : `${plural(job.counts.changed, "product")} changed`);

/** @param {{ title: string, items: any[] }} props */
const Left = ({ title, items }) =>
  h("div", null, h("p", null, h("b", null, title)), h("ul", { class: "notes" }, items.map((one) => h("li", { key: one.productId }, h("a", { class: "iso", href: `/console/products/${encodeURIComponent(one.productId)}` }, one.product?.name ?? one.productId), one.message && [": ", h(Lines, { key: "m", value: one.message })]))));

/** Changes one product. Returns why it was not changed; an empty text if it was.
 * @param {{ operation: string, idField: string, input: any }} change
 * @param {Chosen} product */
async function applied({ operation, idField, input }, product) {
  try {
    const { userErrors } = await changeOnce(operation, { [idField]: product.id, ...input, expectedRevision: product.revision });
    if (userErrors.some((/** @type {any} */ one) => one.code === "REVISION_CONFLICT")) return "Somebody has changed it meanwhile.";
    return userErrors.map((/** @type {any} */ one) => sentence(one.message)).join(" ");
  } catch (error) {
    return explain(/** @type {Error} */ (error));
  }
}

/** @param {{ progress: { done: number, failed: Failed[], running: boolean }, all: number, onStop: () => void, onDone: () => void }} props */
function Progress({ progress: { done, failed, running }, all, onStop, onDone }) {
  return h(
    "div",
    { class: "stack" },
    h("h2", null, running ? "Changing …" : `${plural(done - failed.length, "product")} changed`),
    h("progress", { max: all, value: done, "aria-label": "Products that were gone through" }),
    h("p", { class: "hint" }, `${count(done)} of ${count(all)}${running ? "" : done < all ? ", then stopped" : ""}`),
    failed.length > 0 && [
      h("p", { key: "t" }, h("b", null, `${plural(failed.length, "product")} not changed:`)),
      h("ul", { key: "l", class: "notes" }, failed.slice(0, 100).map(({ product, message }) => h("li", { key: product.id }, h("a", { class: "iso", href: `/console/products/${encodeURIComponent(product.id)}` }, product.name), ": ", h(Lines, { value: message })))),
    ],
    h("p", { class: "buttons" }, running ? h("button", { type: "button", class: "button quiet", onClick: onStop }, "Stop") : h("button", { type: "button", class: "button", onClick: onDone }, "Done")),
  );
}
