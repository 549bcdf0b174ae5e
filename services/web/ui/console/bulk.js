// @ts-check
// One change of many products: each by itself, with the revision that was seen, so that nobody's work is lost.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { count, plural } from "../shared/format.js";
import { announcement } from "../shared/navigation.js";
import { changeOnce, fetchPages } from "./data.js";
import { Field, sentence } from "./form.js";
import { Lines } from "./edit.js";
import { SpecRow, emptyRow, inputOf } from "./product-specs.js";
import { fieldsOf, labelOf, shapeOf } from "./schema.js";
import { draftOf, valueOf } from "./values.js";
import { explain } from "./viewer.js";

/** @typedef {{ id: string, name: string, revision: number }} Chosen */
/** @typedef {{ product: Chosen, message: string }} Failed */

const FIELDS = ["status", "category", "brand", "supplierId", "price"];
/** How many products one change may have. */
const MOST = 10_000;

/** All products that match, also those that are not on the page.
 * @param {{ filter: any, search: string | null, sort: any }} variables
 * @returns {Promise<Chosen[]>} */
export const matching = ({ filter, search, sort }) => fetchPages("MatchingProducts", "products", undefined, { filter, search, sort }, MOST);

/** @param {{ types: import("./schema.js").Types, products: Chosen[], onDone: () => void }} props */
export function Bulk({ types, products, onDone }) {
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
      const spec = inputOf(row, 0, invalid);
      if (!spec && !invalid.length) invalid.push({ path: ["specs", "0", "key"], message: "is missing" });
      setRefusals(invalid);
      return invalid.length ? null : { operation: "SetSpecs", idField: "productId", input: { specs: [spec] } };
    }
    const value = valueOf(types, shapeOf(chosen.type), draft, { path: [field], refusals: invalid });
    if (value === null && ["status", "category"].includes(field)) invalid.push({ path: [field], message: "is missing" });
    setRefusals(invalid);
    return invalid.length ? null : { operation: "UpdateProduct", idField: "id", input: { [field]: value } };
  };
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
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
  if (progress) return h(Progress, { progress, all: products.length, onStop: () => (stopped.current = true), onDone });
  return h(
    "form",
    { class: "stack", noValidate: true, onSubmit: run },
    h("h2", null, `Change ${plural(products.length, "product")}`),
    products.length >= MOST && h("p", { class: "wrong" }, `These are the first ${count(MOST)}: more are not changed at once.`),
    h("div", { class: "field" }, h("label", { for: "bulk-field" }, "What"), h("select", { id: "bulk-field", value: field, onChange: choose }, known.map((one) => h("option", { key: one.name, value: one.name }, labelOf(one.name))), h("option", { value: "spec" }, "A spec"))),
    chosen ? h(Field, { key: field, types, field: chosen, draft, onChange: setDraft, refusals, path: [field], id: "bulk", terse: true }) : h(SpecRow, { row, id: "bulk-spec", refusals, onChange: setRow }),
    h("p", { class: "hint" }, "Each product is changed by itself. One that somebody has changed since this list was loaded is left alone, and named at the end."),
    h("p", { class: "buttons" }, h("button", { type: "submit", class: "button" }, `Change ${plural(products.length, "product")}`)),
  );
}

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
