// @ts-check
// The list of products for admins: every filter of the API, columns, views, and changes of many at once.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { plural, total } from "../shared/format.js";
import { Dialog } from "../shared/dialog.js";
import { announcement, navigate, place } from "../shared/navigation.js";
import { edited, facetVariables, filterOf, isFilter, searchOf, sortOf, unitsOf } from "../store/address.js";
import { Panel, choices } from "../store/panel.js";
import { Bulk, OpenBulkChanges } from "./bulk.js";
import { fetchAll, useAsked } from "./data.js";
import { nameOf } from "./form.js";
import { Facts, OWN, OWN_SORTS, factsOf, labelOf, ownSortOf } from "./product-filters.js";
import { Failure, Loading } from "./parts.js";
import { KeyField } from "./pickers.js";
import { useTypes, valuesOf } from "./schema.js";
import { Views, cellOf, columnKeys, columnLabel, columns } from "./views.js";

const PAGE = 50;
const SORTS = [
  ["popularity", "Popularity"],
  ["newest", "Newest"],
  ["name", "Name"],
  ["price", "Price, low to high"],
  ["price-desc", "Price, high to low"],
  ["rating", "Rating"],
  ["best-selling", "Best selling"],
  ["trending", "Trending"],
  ...OWN_SORTS,
];
/** A filter for products that have, or lack, a spec: `x.weight=no`. */
const HAS = "x.";

/** What the address of the list stands for.
 * @param {URLSearchParams} query */
function variablesOf(query) {
  const filter = filterOf(null, query) ?? {};
  Object.assign(filter, factsOf(query));
  const has = [...query].filter(([name]) => name.startsWith(HAS)).map(([name, value]) => ({ key: name.slice(HAS.length), exists: value === "yes" }));
  if (has.length) filter.specs = [...(filter.specs ?? []), ...has];
  const sort = query.get("sort") ?? "";
  const bySpec = sort.startsWith("spec.") && [{ spec: sort.replace(/^spec\.|-desc$/g, ""), direction: sort.endsWith("-desc") ? "DESCENDING" : "ASCENDING" }];
  return { filter: Object.keys(filter).length ? filter : null, search: searchOf(query), sort: bySpec || ownSortOf(sort) || sortOf(query), units: unitsOf(query) };
}

export function Products() {
  const { query } = place.value;
  const variables = variablesOf(query);
  const listed = useAsked("ProductTable", { ...variables, first: PAGE, after: null, keys: columnKeys() });
  const counted = { ...facetVariables(null, query), filter: variables.filter };
  const facets = useAsked("Facets", counted);
  const { types } = useTypes();
  const go = (/** @type {URLSearchParams} */ next) => navigate(`/console/products${next.size ? `?${next}` : ""}`, { stay: true });
  const list = { category: null, query, go, counted };
  const found = facets.data?.products?.facets ?? [];
  const products = listed.data?.products;
  useEffect(() => {
    if (products && !listed.loading) announcement.value = total(products.totalCount, "product");
  }, [products, listed.loading]);
  return h(
    "div",
    { class: "page list" },
    h("div", { class: "heading" }, h("h1", null, "Products"), h("p", { class: "total" }, products ? total(products.totalCount, "product") : ""), h("a", { class: "button quiet", href: "/console/products/new" }, "New product")),
    h(Search, { key: searchOf(query) ?? "", list, didYouMean: products?.search?.didYouMean }),
    h(Views, { query }),
    h(Chips, { list, facets: found }),
    h(
      "div",
      { class: "columns", "aria-busy": String(listed.loading) },
      h("details", { class: "panel filters-box", open: matchMedia("(min-width: 48rem)").matches }, h("summary", null, "Filters"), types && [h(Statuses, { key: "status", list, types }), h(Facts, { key: "facts", list, types }), h(HasSpec, { key: "spec", list })], h(Failure, { error: facets.error, reload: facets.reload }), h(Panel, { facets: found, list, place: "side" })),
      h(
        "section",
        { class: "results", "aria-label": "Products" },
        h(Failure, { error: listed.error, reload: listed.reload }),
        products ? h(Rows, { key: JSON.stringify([variables, columnKeys()]), products, variables, types, reload: listed.reload }) : !listed.error && h(Loading, { error: null }),
      ),
    ),
  );
}

/** @typedef {import("../store/panel.js").List} List */

/** @param {{ list: List, didYouMean: string | null | undefined }} props */
function Search({ list, didYouMean }) {
  const { query, go } = list;
  const [text, setText] = useState(searchOf(query) ?? "");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    go(edited(query, (next) => (text.trim() ? next.set("q", text.trim()) : next.delete("q"))));
  };
  const sort = query.get("sort") ?? (searchOf(query) ? "" : "popularity");
  const known = [...(searchOf(query) ? [["", "Relevance"]] : []), ...SORTS];
  const bySpec = sort.startsWith("spec.") && [[sort, sort.replace(/^spec\./, "By ").replace(/-desc$/, ", descending")]];
  return h(
    "div",
    null,
    h(
      "form",
      { class: "tools", role: "search", onSubmit: submit },
      h("label", { for: "q" }, "Search"),
      h("input", { id: "q", type: "search", maxLength: 200, value: text, onInput: (/** @type {any} */ event) => setText(event.currentTarget.value) }),
      h("button", { type: "submit", class: "button quiet small" }, "Search"),
      h("label", { for: "sort" }, "Sort by"),
      h("select", { id: "sort", value: sort, onChange: (/** @type {any} */ event) => go(edited(query, (next) => (event.currentTarget.value ? next.set("sort", event.currentTarget.value) : next.delete("sort")))) }, [...known, ...(bySpec || [])].map(([value, label]) => h("option", { key: value, value }, label))),
    ),
    didYouMean && h("p", { class: "hint" }, "Did you mean ", h("button", { type: "button", class: "link", onClick: () => go(edited(query, (next) => next.set("q", didYouMean))) }, didYouMean), "?"),
  );
}

/** @param {{ list: List, facets: any[] }} props */
function Chips({ list, facets }) {
  const { query, go } = list;
  const without = (/** @type {string} */ name, /** @type {string} */ value) =>
    edited(query, (next) => {
      const others = next.getAll(name).filter((one) => one !== value);
      next.delete(name);
      for (const one of others) next.append(name, one);
    });
  const isOwn = (/** @type {string} */ name) => OWN.includes(name) || name.startsWith(HAS);
  const own = [...query]
    .filter(([name]) => isOwn(name))
    .map(([name, value]) => ({ key: `${name}=${value}`, label: name.startsWith(HAS) ? `${value === "yes" ? "has" : "lacks"} ${name.slice(HAS.length)}` : labelOf(name, value), without: without(name, value) }));
  const all = [...own, ...choices(query, facets).map((one) => ({ key: one.label, ...one }))];
  if (!all.length) return null;
  const clear = edited(query, (next) => [...next.keys()].filter((name) => isFilter(name) || isOwn(name)).forEach((name) => next.delete(name)));
  return h(
    "ul",
    { class: "chips", "aria-label": "Chosen filters" },
    all.map((one) => h("li", { key: one.key }, h("button", { type: "button", class: "chip", onClick: () => go(one.without) }, h("span", { class: "iso" }, one.label), h("span", { "aria-hidden": "true" }, " ×"), h("span", { class: "hidden" }, ", remove")))),
    all.length > 1 && h("li", { key: "all" }, h("button", { type: "button", class: "link", onClick: () => go(clear) }, "Clear all")),
  );
}

/** @param {{ list: List, types: import("./schema.js").Types }} props */
function Statuses({ list, types }) {
  const { query, go } = list;
  const chosen = query.getAll("status");
  const toggle = (/** @type {string} */ status) =>
    go(
      edited(query, (next) => {
        next.delete("status");
        for (const one of chosen.includes(status) ? chosen.filter((other) => other !== status) : [...chosen, status]) next.append("status", one);
      }),
    );
  return h(
    "fieldset",
    { class: "statuses" },
    h("legend", { class: "facet-name" }, "Status"),
    valuesOf(types, "ProductStatus").map((one) => h("label", { class: "check", key: one.name }, h("input", { type: "checkbox", checked: chosen.includes(one.name), onChange: () => toggle(one.name) }), nameOf(one.name))),
  );
}

/** Finds what has a spec, or lacks it; and orders by it.
 * @param {{ list: List }} props */
function HasSpec({ list }) {
  const { query, go } = list;
  const [key, setKey] = useState("");
  const set = (/** @type {string} */ value) => {
    if (!key.trim()) return;
    go(edited(query, (next) => (value === "sort" ? next.set("sort", `spec.${key.trim()}`) : next.set(HAS + key.trim(), value))));
    setKey("");
  };
  return h(
    "fieldset",
    { class: "has-spec" },
    h("legend", { class: "facet-name" }, "A spec"),
    h("label", { class: "hidden", for: "has-key" }, "Key"),
    h(KeyField, { id: "has-key", value: key, onChange: setKey, invalid: false, describedBy: "has-hint", required: false }),
    h("span", { id: "has-hint", class: "hint" }, "Any key of the dictionary."),
    h("p", { class: "buttons" }, [["yes", "Has it"], ["no", "Lacks it"], ["sort", "Sort by it"]].map(([value, label]) => h("button", { key: value, type: "button", class: "button quiet small", onClick: () => set(value) }, label))),
  );
}

/** @param {{ products: any, variables: any, types: import("./schema.js").Types | null, reload: () => void }} props */
function Rows({ products, variables, types, reload }) {
  const [more, setMore] = useState(/** @type {any[]} */ ([]));
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const [bulk, setBulk] = useState(/** @type {import("./bulk.js").Selection | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  // Pages that were added belong to the first one as it was.
  useEffect(() => setMore([]), [products]);
  const pages = [products, ...more];
  const rows = pages.flatMap((page) => page.nodes);
  const { hasNextPage, endCursor } = pages[pages.length - 1].pageInfo;
  const next = async () => {
    setBusy(true);
    try {
      const data = await fetchAll("ProductTable", { ...variables, first: PAGE, after: endCursor, keys: columnKeys() });
      setMore([...more, data.products]);
      setError(null);
    } catch (failed) {
      setError(/** @type {Error} */ (failed));
    }
    setBusy(false);
  };
  const toggle = (/** @type {string} */ id) => {
    const copy = new Set(chosen);
    if (!copy.delete(id)) copy.add(id);
    setChosen(copy);
  };
  const visible = rows.filter((row) => chosen.has(row.id));
  const allChosen = visible.length === rows.length && rows.length > 0;
  const done = () => {
    setBulk(null);
    setChosen(new Set());
    reload();
  };
  return h(
    "div",
    null,
    h(
      "div",
      { class: "tools bulk-bar" },
      visible.length > 0 ? h("button", { type: "button", class: "button small", onClick: () => setBulk({ products: visible }) }, `Change ${plural(visible.length, "product")} …`) : h("p", { class: "hint" }, "Choose products to change several at once."),
      h(OpenBulkChanges, { key: bulk ? "open" : "closed", open: (job) => setBulk({ job }) }),
      rows.length > 0 && h("button", { type: "button", class: "link", onClick: () => setBulk({ matching: { filter: variables.filter, search: variables.search }, total: total(products.totalCount, "product") }) }, `Change all that match (${total(products.totalCount, "product")}) …`),
    ),
    h(Failure, { error }),
    rows.length === 0
      ? h("p", { class: "box" }, "No products match.")
      : h(
          "div",
          { class: "wide", tabIndex: 0, role: "region", "aria-label": "Table of products" },
          h(
            "table",
            { class: "grid product-table" },
            h(
              "thead",
              null,
              h(
                "tr",
                null,
                h("td", null, h("input", { type: "checkbox", "aria-label": "Choose all on the page", checked: allChosen, onChange: () => setChosen(allChosen ? new Set() : new Set(rows.map((row) => row.id))) })),
                h("th", { scope: "col" }, "Name"),
                columns.value.map((column) => h("th", { scope: "col", key: column }, columnLabel(column, rows))),
              ),
            ),
            h(
              "tbody",
              null,
              rows.map((row) =>
                h(
                  "tr",
                  { key: row.id, class: chosen.has(row.id) ? "chosen" : "" },
                  h("td", null, h("input", { type: "checkbox", "aria-label": `Choose ${row.name}`, checked: chosen.has(row.id), onChange: () => toggle(row.id) })),
                  h("th", { scope: "row" }, h("a", { class: "iso", href: `/console/products/${encodeURIComponent(row.id)}` }, row.name)),
                  columns.value.map((column) => h("td", { key: column, class: "iso" }, cellOf(column, row))),
                ),
              ),
            ),
          ),
        ),
    hasNextPage && h("p", { class: "more" }, h("button", { type: "button", class: "button quiet", disabled: busy, onClick: next }, busy ? "Loading …" : "Show more")),
    h(Dialog, { open: bulk !== null, onClose: done, label: "Change several products", class: "wide-dialog" }, bulk && types && h(Bulk, { types, selection: bulk, onDone: done })),
  );
}
