// @ts-check
// Filters of products that only admins have: kind, supplier, what is missing, and when they changed.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { edited } from "../store/address.js";
import { nameOf } from "./form.js";
import { SupplierField, SupplierName, Suggested } from "./pickers.js";
import { fieldsOf } from "./schema.js";

/** @typedef {import("../store/panel.js").List} List */

/** The parameters of the address that stand for these filters. */
export const OWN = ["status", "kind", "supplier", "priced", "pictured", "since"];
/** The orders that the storefront does not have. */
export const OWN_SORTS = [
  ["updated", "Last changed"],
  ["updated-asc", "Longest unchanged"],
];
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The part of a filter that these parameters stand for.
 * @param {URLSearchParams} query */
export function factsOf(query) {
  /** @type {Record<string, any>} */
  const facts = {};
  for (const name of ["status", "kind", "supplier"]) if (query.has(name)) facts[name] = query.getAll(name);
  if (query.has("priced")) facts.hasPrice = query.get("priced") === "yes";
  if (query.has("pictured")) facts.hasMedia = query.get("pictured") === "yes";
  const since = query.get("since") ?? "";
  if (DAY.test(since)) facts.updatedSince = `${since}T00:00:00Z`;
  return facts;
}

/** @param {string} sort */
export function ownSortOf(sort) {
  if (!OWN_SORTS.some(([value]) => value === sort)) return null;
  return [{ key: "UPDATED", direction: sort === "updated" ? "DESCENDING" : "ASCENDING" }];
}

/** What a chip says.
 * @param {string} name
 * @param {string} value */
export function labelOf(name, value) {
  if (name === "priced") return value === "yes" ? "with a price" : "without a price";
  if (name === "pictured") return value === "yes" ? "with pictures" : "without pictures";
  if (name === "since") return `changed since ${value}`;
  if (name === "kind") return `kind ${value}`;
  if (name === "supplier") return ["from ", h(SupplierName, { key: value, id: value })];
  return nameOf(value);
}

/** @param {{ list: List, types: import("./schema.js").Types }} props */
export function Facts({ list, types }) {
  const { query, go } = list;
  const [kind, setKind] = useState("");
  const set = (/** @type {string} */ name, /** @type {string} */ value) => go(edited(query, (next) => (value ? next.set(name, value) : next.delete(name))));
  const addKind = (/** @type {Event} */ event) => {
    event.preventDefault();
    const clean = kind.trim();
    if (clean && !query.getAll("kind").includes(clean)) go(edited(query, (next) => next.append("kind", clean)));
    setKind("");
  };
  const either = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string[]} */ [has, lacks]) => [
    h("label", { key: `${name}-label`, for: `by-${name}` }, label),
    h(
      "select",
      { key: name, id: `by-${name}`, value: query.get(name) ?? "", onChange: (/** @type {any} */ event) => set(name, event.currentTarget.value) },
      [["", "Any"], ["yes", has], ["no", lacks]].map(([value, text]) => h("option", { key: value, value }, text)),
    ),
  ];
  return h(
    "fieldset",
    { class: "has-spec facts" },
    h("legend", { class: "facet-name" }, "The product"),
    h(
      "form",
      { onSubmit: addKind },
      h("label", { for: "by-kind" }, "Kind"),
      h(Suggested, { id: "by-kind", value: kind, onChange: setKind, invalid: false, describedBy: "by-kind-hint", required: false, options: fieldsOf(types, "ProductDetailsInput").map(({ name }) => ({ value: name, label: nameOf(name) })) }),
      h("span", { id: "by-kind-hint", class: "hint" }, "Any kind; Enter adds it."),
    ),
    h("label", { for: "by-supplier" }, "Supplier"),
    h(SupplierField, { id: "by-supplier", value: query.get("supplier") ?? "", onChange: (/** @type {string} */ value) => set("supplier", value), invalid: false, describedBy: /** @type {any} */ (undefined), required: false }),
    either("priced", "Price", ["With a price", "Without a price"]),
    either("pictured", "Pictures", ["With pictures", "Without pictures"]),
    h("label", { for: "by-since" }, "Changed since"),
    h("input", { id: "by-since", type: "date", value: query.get("since") ?? "", onChange: (/** @type {any} */ event) => set("since", event.currentTarget.value) }),
  );
}
