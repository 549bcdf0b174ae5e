// @ts-check
// The start page.
import { h } from "../vendor/preact/preact.js";
import { plural } from "../shared/format.js";
import { useAnswer, useRestoredPlace } from "../shared/navigation.js";
import { Trouble } from "../shared/dialog.js";
import { Tile, categoryPath, drawing } from "./tile.js";

export const homeTitle = "Vitrine – a shop where every product can be compared";

export function Home() {
  const { data, error } = useAnswer("Home", {});
  useRestoredPlace(Boolean(data));
  if (!data) return h(Trouble, { error });
  const products = (/** @type {any[]} */ rows) => (rows ?? []).map((row) => row.product ?? row);
  return h(
    "div",
    { class: "page home" },
    h("h1", null, "Find it, compare it, read what others say"),
    h(
      "section",
      { "aria-labelledby": "departments" },
      h("h2", { id: "departments" }, "Departments"),
      h("ul", { class: "doors" }, data.categories.map((/** @type {any} */ one) => h(Door, { key: one.slug, category: one }))),
    ),
    h(Shelf, { id: "trending", title: "Trending this week", products: products(data.trending) }),
    h(Shelf, { id: "best", title: "Best sellers", products: products(data.bestSelling?.nodes) }),
    h(Shelf, { id: "newest", title: "New in the shop", products: products(data.newest?.nodes) }),
  );
}

/** @param {{ category: any }} props */
function Door({ category }) {
  const drawn = drawing({ kind: "department", category, slug: category.slug }, 4);
  return h(
    "li",
    null,
    h(
      "a",
      { class: "door", href: categoryPath(category.slug) },
      h("img", { src: drawn, alt: "", width: 320, height: 320 }),
      h("span", { class: "name" }, category.name),
      h("span", { class: "count" }, category.productCount == null ? "" : plural(category.productCount, "product")),
    ),
  );
}

/** @param {{ id: string, title: string, products: any[] }} props */
export function Shelf({ id, title, products }) {
  if (!products.length) return null;
  return h(
    "section",
    { "aria-labelledby": id },
    h("h2", { id }, title),
    h("ul", { class: "tiles" }, products.map((product, index) => h(Tile, { key: product.id, product, index }))),
  );
}
