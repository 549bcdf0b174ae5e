// @ts-check
// How the list of products is looked at: columns, and views that are kept under a name in this browser.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { signal } from "../vendor/preact/signals.js";
import { average, count, money } from "../shared/format.js";
import { Dialog } from "../shared/dialog.js";
import { announcement, navigate } from "../shared/navigation.js";
import { keep, stored } from "./data.js";
import { nameOf } from "./form.js";
import { Time } from "./parts.js";
import { KeyField } from "./pickers.js";

/** @typedef {{ name: string, query: string, columns: string[] }} View */

const COLUMNS = "vitrine.columns";
const VIEWS = "vitrine.views";
const SPEC = "spec:";

/** @type {Record<string, { label: string, cell: (product: any) => any }>} */
const KNOWN = {
  status: { label: "Status", cell: (product) => nameOf(product.status) },
  category: { label: "Category", cell: (product) => product.category.name },
  brand: { label: "Brand", cell: (product) => product.brand ?? "–" },
  price: { label: "Price", cell: (product) => (product.price ? money(product.price) : "–") },
  rating: { label: "Rating", cell: ({ ratingStats }) => (ratingStats.count ? `${average(ratingStats.average)} (${count(ratingStats.count)})` : "–") },
  kind: { label: "Kind", cell: (product) => product.kind },
  sku: { label: "SKU", cell: (product) => product.sku },
  slug: { label: "Slug", cell: (product) => product.slug },
  supplier: { label: "Supplier", cell: ({ supplier }) => (supplier ? `${supplier.name}${supplier.country ? ` (${supplier.country})` : ""}` : "–") },
  revision: { label: "Revision", cell: (product) => product.revision },
  created: { label: "Made", cell: (product) => h(Time, { at: product.createdAt }) },
  listed: { label: "On sale since", cell: (product) => h(Time, { at: product.listedAt }) },
  updated: { label: "Changed", cell: (product) => h(Time, { at: product.updatedAt }) },
};
const DEFAULT = ["status", "category", "brand", "price", "rating", "updated"];

/** The columns that are shown, beside the name. */
export const columns = signal(/** @type {string[]} */ (stored(COLUMNS, DEFAULT)));
const views = signal(/** @type {View[]} */ (stored(VIEWS, [])));

/** @param {string[]} next */
function setColumns(next) {
  columns.value = next;
  keep(COLUMNS, next);
}

/** @param {View[]} next */
function setViews(next) {
  views.value = next;
  keep(VIEWS, next);
}

/** The spec keys among the columns. */
export const columnKeys = () => columns.value.filter((one) => one.startsWith(SPEC)).map((one) => one.slice(SPEC.length));

/** @param {string} column
 * @param {any[]} [products] */
export function columnLabel(column, products = []) {
  if (!column.startsWith(SPEC)) return KNOWN[column]?.label ?? column;
  const key = column.slice(SPEC.length);
  const spec = products.flatMap((product) => product.specs).find((one) => one.key === key);
  return spec?.label ?? key;
}

/** @param {string} column
 * @param {any} product */
export function cellOf(column, product) {
  if (!column.startsWith(SPEC)) return KNOWN[column]?.cell(product) ?? "";
  const found = product.specs.filter((/** @type {any} */ spec) => spec.key === column.slice(SPEC.length));
  return found.map((/** @type {any} */ spec) => spec.text + (spec.qualifier ? ` (${spec.qualifier})` : "")).join("; ") || "–";
}

/** Chooses columns and keeps views.
 * @param {{ query: URLSearchParams }} props */
export function Views({ query }) {
  const [open, setOpen] = useState("");
  const [name, setName] = useState("");
  const text = query.toString();
  const show = (/** @type {View} */ view) => {
    setColumns(view.columns);
    navigate(`/console/products${view.query ? `?${view.query}` : ""}`, { stay: true });
    announcement.value = `View ${view.name}`;
  };
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const clean = name.trim();
    if (!clean) return;
    setViews([...views.value.filter((one) => one.name !== clean), { name: clean, query: text, columns: columns.value }]);
    setName("");
    setOpen("");
    announcement.value = `View ${clean} is kept`;
  };
  const close = () => setOpen("");
  return h(
    "div",
    { class: "kept-views" },
    views.value.length > 0 &&
      h(
        "ul",
        { class: "chips", "aria-label": "Views" },
        views.value.map((view) =>
          h(
            "li",
            { key: view.name, class: "view" },
            h("button", { type: "button", class: "chip plain", "aria-pressed": String(view.query === text), onClick: () => show(view) }, h("span", { class: "iso" }, view.name)),
            h("button", { type: "button", class: "link drop", "aria-label": `Forget the view ${view.name}`, onClick: () => setViews(views.value.filter((one) => one !== view)) }, "×"),
          ),
        ),
      ),
    h("button", { type: "button", class: "button quiet small", onClick: () => setOpen("columns") }, "Columns …"),
    h("button", { type: "button", class: "button quiet small", onClick: () => setOpen("save") }, "Keep this view …"),
    h(Dialog, { open: open === "columns", onClose: close, label: "Columns" }, h(Columns, null)),
    h(
      Dialog,
      { open: open === "save", onClose: close, label: "Keep this view" },
      h(
        "form",
        { class: "stack", onSubmit: save },
        h("h2", null, "Keep this view"),
        h("p", { class: "hint" }, "Filters, order and columns, in this browser."),
        h("div", { class: "field" }, h("label", { for: "view-name" }, "Name"), h("input", { id: "view-name", required: true, maxLength: 60, value: name, onInput: (/** @type {any} */ event) => setName(event.currentTarget.value) })),
        h("button", { type: "submit", class: "button" }, "Keep"),
      ),
    ),
  );
}

function Columns() {
  const [key, setKey] = useState("");
  const toggle = (/** @type {string} */ column) => setColumns(columns.value.includes(column) ? columns.value.filter((one) => one !== column) : [...columns.value, column]);
  const add = (/** @type {Event} */ event) => {
    event.preventDefault();
    const column = SPEC + key.trim();
    if (key.trim() && !columns.value.includes(column)) setColumns([...columns.value, column]);
    setKey("");
  };
  const specs = columns.value.filter((one) => one.startsWith(SPEC));
  return h(
    "div",
    { class: "stack" },
    h("h2", null, "Columns"),
    h(
      "ul",
      { class: "checks" },
      [...Object.keys(KNOWN), ...specs].map((column) => h("li", { key: column }, h("label", { class: "check" }, h("input", { type: "checkbox", checked: columns.value.includes(column), onChange: () => toggle(column) }), h("span", { class: "iso" }, columnLabel(column))))),
    ),
    h(
      "form",
      { class: "tools", onSubmit: add },
      h("label", { for: "column-key" }, "A spec"),
      h(KeyField, { id: "column-key", value: key, onChange: setKey, invalid: false, describedBy: "column-key-hint", required: false }),
      h("button", { type: "submit", class: "button quiet small" }, "Add"),
      h("span", { id: "column-key-hint", class: "hidden" }, "Adds a column with this spec"),
    ),
    h("p", null, h("button", { type: "button", class: "link", onClick: () => setColumns(DEFAULT) }, "As at first")),
  );
}
