// @ts-check
// Suppliers, and how far their products are behind after a change.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { count, plural } from "../shared/format.js";
import { navigate } from "../shared/navigation.js";
import { fetchPages, useAsked, useRepeated } from "./data.js";
import { NewThing, ThingForm } from "./edit.js";
import { Failure, Loading, Opened, Table, Time, duration } from "./parts.js";
import { useTypes } from "./schema.js";

const POLL_INTERVAL = 1_000;
/** How long typing pauses before it is searched for. */
const DEBOUNCE = 200;
/** How many suppliers are shown; a name narrows them down. */
const MAX_SUPPLIERS = 500;

/** @param {string} id */
const supplierPath = (id) => `/console/suppliers/${encodeURIComponent(id)}`;

/** @param {any} propagation */
const behind = (propagation) => (propagation?.productsBehind ? `${plural(propagation.productsBehind, "product")} for ${duration(propagation.lagSeconds)}` : "none");

export function Suppliers() {
  const { types } = useTypes();
  const [rows, setRows] = useState(/** @type {any[] | null} */ (null));
  const [wanted, setWanted] = useState("");
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const text = wanted.trim();
  const search = /[\p{L}\p{N}]/u.test(text) ? text : null;
  const load = () => {
    let current = true;
    const arrived = (/** @type {any[]} */ some) => current && setRows([...some]);
    setError(null);
    const timer = setTimeout(() => fetchPages("Suppliers", "suppliers", undefined, { search }, MAX_SUPPLIERS).then(arrived, (failed) => current && setError(failed)), rows ? DEBOUNCE : 0);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  };
  useEffect(load, [search]);
  if (!rows || !types) return h(Loading, { error, reload: load });
  const made = (/** @type {any} */ supplier) => {
    navigate(supplierPath(supplier.id));
  };
  return h(
    "div",
    { class: "page" },
    h("div", { class: "heading" }, h("h1", null, "Suppliers"), h("p", { class: "total" }, rows.length < MAX_SUPPLIERS ? plural(rows.length, "supplier") : `The first ${count(MAX_SUPPLIERS)} suppliers`)),
    h(Failure, { error, reload: load }),
    h(Opened, { label: "New supplier …" }, h(NewThing, { types, type: "CreateSupplierInput", what: "supplier", operation: "CreateSupplier", field: "supplier", onMade: made })),
    h("div", { class: "tools" }, h("label", { for: "supplier-search" }, "Words of the name"), h("input", { id: "supplier-search", type: "search", value: wanted, onInput: (/** @type {any} */ event) => setWanted(event.currentTarget.value) })),
    h(
      Table,
      { label: "Suppliers", head: ["Name", "Country", "Products behind", "Last change"] },
      rows.map((row) =>
        h("tr", { key: row.id }, h("th", { scope: "row" }, h("a", { class: "iso", href: supplierPath(row.id) }, row.name)), h("td", null, row.country ?? "–"), h("td", null, behind(row.propagation)), h("td", null, h(Time, { at: row.propagation?.changedAt }))),
      ),
    ),
  );
}

/** @param {{ id: string }} props */
export function Supplier({ id }) {
  const { types, error: untyped } = useTypes();
  const { data, error, reload } = useAsked("OneSupplier", { id });
  const supplier = data?.supplier;
  const lagging = Boolean(supplier?.propagation?.productsBehind);
  useRepeated(lagging ? reload : null, POLL_INTERVAL);
  if (!data || !types) return h(Loading, { error: error ?? untyped, reload });
  if (!supplier) return h("div", { class: "page narrow" }, h("h1", null, "There is no such supplier"));
  const saved = () => {
    reload();
  };
  return h(
    "div",
    { class: "page" },
    h("p", { class: "trail" }, h("a", { href: "/console/suppliers" }, "Suppliers")),
    h("div", { class: "heading" }, h("h1", { class: "iso" }, supplier.name), h("p", { class: "total" }, `revision ${supplier.revision}`)),
    h(Failure, { error, reload }),
    h(
      "div",
      { class: "editor" },
      h(ThingForm, { key: id, types, type: "UpdateSupplierInput", without: [], what: "supplier", id: { id }, thing: supplier, read: (one) => one, operation: "UpdateSupplier", field: "supplier", onSaved: saved }),
      h(
        "aside",
        { class: "beside", "aria-label": "Products" },
        h("h2", null, "Copies in products"),
        h("p", { class: "propagation", role: "status" }, lagging ? `${plural(supplier.propagation.productsBehind, "product")} still have the old name or country, for ${duration(supplier.propagation.lagSeconds)}.` : "All products are up to date."),
        h("p", { class: "hint" }, "Last change: ", h(Time, { at: supplier.propagation?.changedAt })),
      ),
    ),
  );
}
