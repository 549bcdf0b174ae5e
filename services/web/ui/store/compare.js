// @ts-check
// Up to four products side by side, in the same units.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { money } from "../shared/format.js";
import { Trouble } from "../shared/dialog.js";
import { navigate, place, useAnswer, useRestoredPlace } from "../shared/navigation.js";
import { SpecText, UnitSwitch, grouped, unitsOfSystem } from "./specs.js";
import { MAX_COMPARED, Rating, comparePath, fallBack, picture, productPath, setCompared } from "./tile.js";

const PLACES = ["a", "b", "c", "d"];

/** @param {string[]} slugs
 * @param {string} system */
function variablesOf(slugs, system) {
  /** @type {Record<string, any>} */
  const variables = { units: unitsOfSystem(system) };
  PLACES.forEach((place, at) => {
    variables[place] = slugs[at] ?? "";
    variables[`has${place.toUpperCase()}`] = slugs[at] !== undefined;
  });
  return variables;
}

export function Compare() {
  const { query } = place.value;
  const slugs = query.getAll("p").slice(0, MAX_COMPARED);
  const system = query.get("units") ?? "metric";
  const { data, error } = useAnswer("Compare", variablesOf(slugs, system));
  const [differing, setDiffering] = useState(false);
  useRestoredPlace(Boolean(data));
  useEffect(() => {
    document.title = "Compare products – Vitrine";
    if (slugs.length) setCompared(slugs);
  }, [slugs.join()]);
  if (!data) return h(Trouble, { error });
  const products = PLACES.map((place) => data[place]).filter(Boolean);
  const path = (/** @type {string[]} */ kept, /** @type {string} */ units) => {
    const base = comparePath(kept);
    return units === "metric" || !kept.length ? base : `${base}&units=${units}`;
  };
  if (!products.length) {
    return h("div", { class: "page compare" }, h("h1", null, "Compare"), h("p", null, "Choose products with “Compare” on their pages and in lists."));
  }
  const remove = (/** @type {string} */ slug) => {
    const kept = slugs.filter((other) => other !== slug);
    setCompared(kept);
    navigate(path(kept, system), { stay: true, replace: true });
  };
  const rows = rowsOf(products);
  const shown = differing ? rows.filter((row) => row.differs) : rows;
  return h(
    "div",
    { class: "page compare" },
    h("h1", null, "Compare"),
    h(
      "div",
      { class: "tools" },
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: differing, onChange: () => setDiffering(!differing) }), " Only differences"),
      h(UnitSwitch, { system: system === "entered" ? "" : system, onChange: (/** @type {string} */ units) => navigate(path(slugs, units || "entered"), { stay: true, replace: true }) }),
    ),
    h(
      "div",
      { class: "wide", tabIndex: 0, role: "region", "aria-label": "Comparison" },
      h(
        "table",
        { class: "comparison" },
        h("thead", null, h("tr", null, h("td", null), products.map((product) => h(Head, { key: product.id, product, remove })))),
        h("tbody", null, shown.map((row) => h(Row, { key: row.key, row, products }))),
      ),
    ),
  );
}

/** @param {{ product: any, remove: (slug: string) => void }} props */
function Head({ product, remove }) {
  return h(
    "th",
    { scope: "col" },
    h("img", { src: picture(product), alt: "", width: 160, height: 160, onError: fallBack(product) }),
    h("a", { class: "iso", href: productPath(product.slug) }, product.name),
    h(Rating, { stats: product.ratingStats }),
    h("button", { type: "button", class: "link", onClick: () => remove(product.slug) }, "Remove", h("span", { class: "hidden" }, ` ${product.name}`)),
  );
}

/** @typedef {{ key: string, label: string, cells: any[], differs: boolean }} ComparedRow */

/** @param {any[]} products
 * @returns {ComparedRow[]} */
function rowsOf(products) {
  /** @type {ComparedRow[]} */
  const rows = [];
  const add = (/** @type {string} */ key, /** @type {string} */ label, /** @type {any[]} */ cells, /** @type {any[]} */ compared) =>
    rows.push({ key, label, cells, differs: new Set(compared.map((one) => JSON.stringify(one ?? null))).size > 1 });
  const prices = products.map((product) => money(product.price) || "on request");
  add("@price", "Price", prices, prices);
  const brands = products.map((product) => product.brand ?? "–");
  add("@brand", "Brand", brands, brands);
  const suppliers = products.map((product) => product.supplier?.name ?? "–");
  add("@supplier", "Supplier", suppliers, suppliers);
  const all = grouped(products.flatMap((product) => product.specs)).flatMap(([, keys]) => keys);
  for (const { key, label } of all.filter(({ key }) => key !== "gtin")) {
    const specs = products.map((product) => product.specs.filter((/** @type {any} */ spec) => spec.key === key));
    const cells = specs.map((found) => (found.length ? h(SpecText, { specs: found }) : "–"));
    // Quantities are equal if they are so in the base unit, however they are written.
    const measure = (/** @type {any} */ { qualifier, value, text }) => [qualifier, value.canonicalValue?.toPrecision(6) ?? value.number ?? text];
    add(key, label, cells, specs.map((found) => found.map(measure)));
  }
  return rows;
}

/** @param {{ row: ComparedRow, products: any[] }} props */
function Row({ row, products }) {
  return h(
    "tr",
    { class: row.differs ? "differs" : "" },
    h("th", { scope: "row" }, row.label, row.differs && products.length > 1 && h("span", { class: "mark", title: "They differ" }, h("span", { "aria-hidden": "true" }, "≠"), h("span", { class: "hidden" }, " (they differ)"))),
    row.cells.map((cell, at) => h("td", { key: products[at].id }, cell)),
  );
}
