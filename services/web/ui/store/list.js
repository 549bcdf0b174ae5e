// @ts-check
// The page of a category, and that of a search.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { ask } from "../shared/graphql.js";
import { count, plural, total } from "../shared/format.js";
import { Dialog, Trouble } from "../shared/dialog.js";
import { announcement, navigate, place, remembered, useAnswer, useRestoredPlace } from "../shared/navigation.js";
import { chosenKeys, edited, facetVariables, filterOf, isFilter, listPath, listVariables, searchOf } from "./address.js";
import { Panel, choices } from "./panel.js";
import { Tile, categoryPath } from "./tile.js";

const SORTS = [
  ["popularity", "Popularity"],
  ["trending", "Trending"],
  ["best-selling", "Best selling"],
  ["rating", "Best rated"],
  ["price", "Price, low to high"],
  ["price-desc", "Price, high to low"],
  ["newest", "Newest"],
  ["name", "Name"],
];
/** How many chosen filters a list without products proposes to drop. */
const PROPOSED = 4;

/** @param {{ category: string | null }} props */
export function List({ category }) {
  const { query, key } = place.value;
  const variables = listVariables(category, query);
  const listed = useAnswer("List", variables);
  const counted = useAnswer("Facets", facetVariables(category, query));
  useRestoredPlace(Boolean(listed.data));
  const data = listed.data;
  const products = data?.products;
  const said = useRef("");
  useEffect(() => {
    if (!products || listed.loading) return;
    const text = total(products.totalCount, "product");
    if (said.current && said.current !== text) announcement.value = text;
    said.current = text;
    const name = data.category?.name ?? (searchOf(query) ? `“${searchOf(query)}”` : "All products");
    document.title = `${name} – Vitrine`;
  }, [products, listed.loading]);
  if (!data) return h(Trouble, { error: listed.error });
  if (category !== null && !data.category) return h(Trouble, { error: new Error("There is no such category.") });
  if (!products) return h(Trouble, { error: listed.error ?? new Error("The list cannot be shown.") });
  const facets = counted.data?.products?.facets ?? [];
  const go = (/** @type {URLSearchParams} */ next) => navigate(listPath(category, next), { stay: true });
  const list = { category, query, go };
  return h(
    "div",
    { class: "page list" },
    h(Trail, { above: data.category?.ancestors ?? [] }),
    h(
      "div",
      { class: "heading" },
      h("h1", { class: "iso" }, data.category?.name ?? (searchOf(query) ? `Results for “${searchOf(query)}”` : "All products")),
      h("p", { class: "total" }, total(products.totalCount, "product")),
    ),
    h(Below, { children: data.category?.children ?? [] }),
    h(
      "div",
      { class: "columns", "aria-busy": String(listed.loading) },
      h("aside", { class: "panel", "aria-label": "Filters" }, h(Panel, { facets, list, place: "side" })),
      h(
        "section",
        { class: "results", "aria-label": "Products" },
        h(Reading, { search: products.search, list }),
        h(Tools, { list, facets, products }),
        listed.error && h("p", { class: "wrong", role: "alert" }, listed.error.message),
        products.nodes.length
          ? h(Rows, { key: JSON.stringify(variables) + key, variables, products, facets })
          : h(Nothing, { list, facets, corrected: Boolean(products.search?.didYouMean) }),
      ),
    ),
  );
}

/** @param {{ above: any[] }} props */
export function Trail({ above }) {
  return h(
    "nav",
    { class: "trail", "aria-label": "Breadcrumb" },
    h(
      "ol",
      null,
      h("li", null, h("a", { href: "/" }, "Home")),
      above.map(({ slug, name }) => h("li", { key: slug }, h("a", { href: categoryPath(slug) }, name))),
    ),
  );
}

/** @param {{ children: any[] }} props */
function Below({ children }) {
  if (!children.length) return null;
  return h(
    "ul",
    { class: "below" },
    children.map(({ slug, name, productCount }) =>
      h("li", { key: slug }, h("a", { href: categoryPath(slug) }, name, productCount != null && [" ", h("span", null, count(productCount))])),
    ),
  );
}

/** How the search was read.
 * @param {{ search: any, list: import("./panel.js").List }} props */
function Reading({ search, list }) {
  if (!search) return null;
  const corrected = search.words.filter((/** @type {any} */ word) => word.reading === "CORRECTED");
  const unknown = search.words.filter((/** @type {any} */ word) => word.reading === "UNKNOWN");
  const instead = (/** @type {string} */ text) => listPath(list.category, edited(list.query, (next) => next.set("q", text)));
  return h(
    "div",
    { class: "reading" },
    corrected.length > 0 &&
      h(
        "p",
        null,
        "Showing results for ",
        corrected.map((/** @type {any} */ word, /** @type {number} */ at) => [at > 0 && ", ", h("b", { key: word.typed }, word.corrected.join(" or ")), ` instead of “${word.typed}”`]),
        ".",
      ),
    unknown.length > 0 && h("p", null, `No product has ${unknown.map((/** @type {any} */ word) => `“${word.typed}”`).join(" and ")}.`),
    search.didYouMean && h("p", null, "Did you mean ", h("a", { href: instead(search.didYouMean) }, search.didYouMean), "?"),
    search.ignored.length > 0 && h("p", null, `Not used: ${search.ignored.join(", ")}.`),
    search.lookedThrough && h("p", null, `Only the ${count(search.lookedThrough)} most popular matches were looked through.`),
  );
}

/** @param {{ list: import("./panel.js").List, facets: any[], products: any }} props */
function Tools({ list, facets, products }) {
  const [open, setOpen] = useState(false);
  const chosen = choices(list.query, facets);
  const relevance = searchOf(list.query) ? [["", "Relevance"]] : [];
  const sort = list.query.get("sort") ?? (relevance.length ? "" : "popularity");
  const clear = edited(list.query, (next) => [...next.keys()].filter(isFilter).forEach((name) => next.delete(name)));
  const change = (/** @type {any} */ event) => {
    const { value } = event.currentTarget;
    list.go(edited(list.query, (next) => (value && value !== "popularity" ? next.set("sort", value) : value && relevance.length ? next.set("sort", value) : next.delete("sort"))));
  };
  return h(
    "div",
    null,
    h(
      "div",
      { class: "tools" },
      h("button", { type: "button", class: "button quiet filters", onClick: () => setOpen(true) }, chosen.length ? `Filters (${chosen.length})` : "Filters"),
      h("label", { for: "sort" }, "Sort by"),
      h("select", { id: "sort", value: sort, onChange: change }, [...relevance, ...SORTS].map(([value, label]) => h("option", { key: value, value }, label))),
    ),
    chosen.length > 0 &&
      h(
        "ul",
        { class: "chips", "aria-label": "Chosen filters" },
        chosen.map(({ label, without }) =>
          h("li", { key: label }, h("button", { type: "button", class: "chip", onClick: () => list.go(without) }, h("span", { class: "iso" }, label), h("span", { "aria-hidden": "true" }, " ×"), h("span", { class: "hidden" }, ", remove"))),
        ),
        chosen.length > 1 && h("li", { key: "all" }, h("button", { type: "button", class: "link", onClick: () => list.go(clear) }, "Clear all")),
      ),
    h(
      Dialog,
      { open, onClose: () => setOpen(false), label: "Filters", class: "sheet" },
      h("h2", null, "Filters"),
      h(Panel, { facets, list, place: "sheet" }),
      h("p", { class: "sheet-end" }, h("button", { type: "button", class: "button", onClick: () => setOpen(false) }, `Show ${total(products.totalCount, "product")}`)),
    ),
  );
}

/** The products, and those of the next pages.
 * @param {{ variables: any, products: any, facets: any[] }} props */
function Rows({ variables, products, facets }) {
  const { key } = place.value;
  const [pages, setPages] = useState(/** @type {any[]} */ (remembered(key).pages ?? []));
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const all = [products, ...pages];
  const { hasNextPage, endCursor } = all[all.length - 1].pageInfo;
  const keys = [...chosenKeys(place.value.query), ...facets.map((facet) => facet.key)];
  const more = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      const data = await ask("List", { ...variables, after: endCursor });
      const next = [...pages, data.products];
      remembered(key).pages = next;
      setPages(next);
      setWrong("");
      announcement.value = plural(data.products.nodes.length, "more product");
    } catch (error) {
      setWrong(/** @type {Error} */ (error).message);
    }
    setBusy(false);
  };
  const next = listPath(variables.inCategory ? variables.category : null, edited(place.value.query, (query) => query.set("after", endCursor)));
  const nodes = all.flatMap((page) => page.nodes);
  return h(
    "div",
    null,
    h("ul", { class: "tiles" }, nodes.map((product, index) => h(Tile, { key: product.id, product, keys, index }))),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
    hasNextPage && h("p", { class: "more" }, h("a", { class: "button", rel: "next", href: next, "aria-disabled": String(busy), onClick: more }, busy ? "Loading …" : "Show more")),
  );
}

/** Ways out of a list without products.
 * @param {{ list: import("./panel.js").List, facets: any[], corrected: boolean }} props */
function Nothing({ list, facets, corrected }) {
  const chosen = choices(list.query, facets).slice(0, PROPOSED);
  const search = searchOf(list.query);
  const [counts, setCounts] = useState(/** @type {any[]} */ ([]));
  const address = list.query.toString();
  useEffect(() => {
    let gone = false;
    const asking = chosen.map(({ without }) => ask("Count", { filter: filterOf(list.category, without), search }));
    Promise.all(asking).then((answers) => !gone && setCounts(answers.map((one) => one.products?.totalCount)), () => {});
    return () => (gone = true);
  }, [address]);
  const words = search?.split(/\s+/) ?? [];
  const fewer = words.length > 1 && !corrected ? words.slice(0, -1).join(" ") : null;
  return h(
    "div",
    { class: "nothing-found" },
    h("p", null, h("b", null, "No products match.")),
    chosen.length > 0 && [
      h("p", { key: "p" }, "Without one of the filters there are:"),
      h(
        "ul",
        { key: "l" },
        chosen.map(({ label, without }, at) =>
          h("li", { key: label }, h("a", { href: listPath(list.category, without) }, `without “${label}”`), counts[at] && ` ${total(counts[at], "product")}`),
        ),
      ),
    ],
    fewer && h("p", null, "Fewer words: ", h("a", { href: `/search?${new URLSearchParams({ q: fewer })}` }, fewer)),
    h("p", null, "Or ", h("a", { href: "/" }, "look around"), "."),
  );
}
