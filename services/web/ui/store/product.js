// @ts-check
// The page of a product.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { ask, change, randomKey } from "../shared/graphql.js";
import { count, money, plural } from "../shared/format.js";
import { Trouble } from "../shared/dialog.js";
import { navigate, place, useAnswer, useRestoredPlace } from "../shared/navigation.js";
import { Gallery } from "./gallery.js";
import { Shelf } from "./home.js";
import { Trail } from "./list.js";
import { Reviews } from "./reviews.js";
import { SpecTable, UnitSwitch, unitsOfSystem } from "./specs.js";
import { CompareButton, Price, Rating, productPath } from "./tile.js";

/** Smaller numbers of views are not worth a word. */
const MIN_VIEWS = 20;

/** @param {{ slug: string }} props */
export function Product({ slug }) {
  const { query } = place.value;
  const system = query.get("units") ?? "";
  const { data, error } = useAnswer("Product", { slug, units: unitsOfSystem(system) });
  useRestoredPlace(Boolean(data));
  const product = data?.product;
  useEffect(() => {
    if (!product) return;
    document.title = `${product.name} – Vitrine`;
    const input = { events: [{ productId: product.id, kind: "VIEW" }], idempotencyKey: randomKey() };
    change("RecordView", input).catch(() => {});
  }, [product?.id]);
  if (!data) return h(Trouble, { error });
  if (!product) return h(Trouble, { error: new Error("There is no such product. It may have been taken off sale.") });
  const units = (/** @type {string} */ next) =>
    navigate(productPath(slug) + (next ? `?units=${next}` : ""), { stay: true, replace: true });
  const { category } = product;
  return h(
    "article",
    { class: "page product" },
    h(Trail, { above: [...category.ancestors, category] }),
    h("div", { class: "intro" }, h(Gallery, { product }), h(Summary, { product })),
    h(Details, { product }),
    h(
      "section",
      { class: "specs", "aria-labelledby": "specs" },
      h("div", { class: "heading" }, h("h2", { id: "specs" }, "Specifications"), h(UnitSwitch, { system, onChange: units })),
      product.specs.length ? h("div", { class: "spec-groups" }, h(SpecTable, { specs: product.specs })) : h("p", null, "None are known."),
    ),
    h(Reviews, { key: product.id, product }),
    h(Related, { key: `related-${product.id}`, product }),
  );
}

/** @param {{ product: any }} props */
function Summary({ product }) {
  const { counters, supplier } = product;
  const sold = counters.unitsSoldInMonth;
  const seen = counters.viewsInMonth;
  const facts = [
    product.status !== "ACTIVE" && "Not on sale",
    sold.value > 0 && `${about(sold)} sold in 30 days`,
    seen.value >= MIN_VIEWS && `seen ${about(seen)} times in 30 days`,
  ].filter(Boolean);
  return h(
    "div",
    { class: "summary" },
    h("p", { class: "brand iso" }, product.brand),
    h("h1", { class: "iso" }, product.name),
    h("div", { class: "verdict" }, h(Rating, { stats: product.ratingStats }), h("a", { href: "#reviews" }, product.ratingStats.count ? "Read reviews" : "Write the first review")),
    h(Price, { price: product.price }),
    h("ul", { class: "standing" }, facts.map((fact) => h("li", { key: fact }, fact))),
    h("p", { class: "buttons" }, h(CompareButton, { product, label: true })),
    product.description && h("p", { class: "description iso" }, product.description),
    h(
      "dl",
      { class: "plain" },
      supplier && [h("dt", { key: "t" }, "Supplier"), h("dd", { key: "d", class: "iso" }, supplier.name, supplier.country && ` (${supplier.country})`)],
      h("dt", null, "Article"),
      h("dd", { class: "iso" }, product.sku),
    ),
  );
}

/** @param {{ value: number, relation: string }} number */
const about = ({ value, relation }) => (relation === "EXACT" ? count(value) : `about ${count(value)}`);

/** What only products of one kind have.
 * @param {{ product: any }} props */
function Details({ product }) {
  const rows = facts(product).filter(([, value]) => value != null && value !== "");
  const table = product.sizeChart?.length ? h(SizeChart, { rows: product.sizeChart }) : null;
  const nutrition = product.nutrition?.length ? h(Nutrition, { rows: product.nutrition }) : null;
  const items = product.items?.length ? h(Items, { items: product.items }) : null;
  if (!rows.length && !table && !nutrition && !items) return null;
  return h(
    "section",
    { class: "details", "aria-labelledby": "about" },
    h("h2", { id: "about" }, "About this product"),
    items,
    rows.length > 0 && h("dl", { class: "plain" }, rows.map(([name, value]) => [h("dt", { key: `${name}t` }, name), h("dd", { key: `${name}d`, class: "iso" }, value)])),
    table,
    nutrition,
  );
}

/** @param {any} product
 * @returns {[string, any][]} */
function facts(product) {
  const people = (/** @type {any[] | undefined} */ list) => list?.map(({ name, role }) => `${name} (${role})`).join(", ");
  return [
    ["Fit", product.fit],
    ["By", people(product.contributors)],
    ["Format", product.format],
    ["Pages", product.pages && count(product.pages)],
    ["ISBN", product.isbn],
    ["With", people(product.cast)],
    ["Running time", product.runtimeMinutes && `${product.runtimeMinutes} min`],
    ["Energy label", product.energyLabel && h("span", { class: `energy e${product.energyLabel}` }, product.energyLabel)],
    ["Warranty", product.warrantyMonths && plural(product.warrantyMonths, "month")],
    ["Works with", product.compatibility?.join(", ")],
    ["Ingredients", product.ingredients],
    ["Allergens", product.allergens && (product.allergens.length ? h("b", null, product.allergens.join(", ")) : "none stated")],
  ];
}

/** @param {{ rows: any[] }} props */
function SizeChart({ rows }) {
  const names = [...new Set(rows.flatMap((row) => row.measurements.map((/** @type {any} */ one) => one.name)))];
  const cell = (/** @type {any} */ row, /** @type {string} */ name) => {
    const found = row.measurements.find((/** @type {any} */ one) => one.name === name);
    return found ? `${found.value} ${found.unit}` : "–";
  };
  return h(
    "div",
    { class: "wide", tabIndex: 0, role: "region", "aria-label": "Size chart" },
    h(
      "table",
      { class: "grid" },
      h("caption", null, "Size chart"),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Size"), names.map((name) => h("th", { key: name, scope: "col" }, name)))),
      h("tbody", null, rows.map((row) => h("tr", { key: row.size }, h("th", { scope: "row" }, row.size), names.map((name) => h("td", { key: name }, cell(row, name)))))),
    ),
  );
}

/** @param {{ rows: any[] }} props */
function Nutrition({ rows }) {
  return h(
    "table",
    { class: "grid" },
    h("caption", null, "Nutrition, per 100 g or 100 ml"),
    h("tbody", null, rows.map((row) => h("tr", { key: row.name }, h("th", { scope: "row" }, row.name), h("td", null, `${row.value} ${row.unit}`)))),
  );
}

/** @param {{ items: any[] }} props */
function Items({ items }) {
  return h(
    "ul",
    { class: "items" },
    items.map((item, at) =>
      h(
        "li",
        { key: at },
        `${item.quantity} × `,
        item.product ? h("a", { class: "iso", href: productPath(item.product.slug) }, item.name) : h("span", { class: "iso" }, item.name),
        item.price && h("span", { class: "price" }, ` ${money(item.price)}`),
      ),
    ),
  );
}

/** What else is popular in the category, asked for once the page stands.
 * @param {{ product: any }} props */
function Related({ product }) {
  const [products, setProducts] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    let gone = false;
    ask("Related", { category: product.category.slug }).then((data) => {
      const others = (data.trending ?? []).map((/** @type {any} */ row) => row.product);
      if (!gone) setProducts(others.filter((/** @type {any} */ other) => other.id !== product.id).slice(0, 4));
    }, () => {});
    return () => (gone = true);
  }, []);
  return h(Shelf, { id: "related", title: `Popular in ${product.category.name}`, products });
}
