// @ts-check
// A product in a list. `src/tile.rs` writes the same.
import { h } from "../vendor/preact/preact.js";
import { signal } from "../vendor/preact/signals.js";
import { average, count, halfStars, money } from "../shared/format.js";
import { announcement } from "../shared/navigation.js";

const SPECS = 3;
export const EAGER = 8;
export const MAX_COMPARED = 4;
const KEY = "vitrine.compared";

/** @returns {string[]} */
function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

/** The slugs of the products to compare. */
export const compared = signal(stored());

/** @param {string[]} slugs */
export function setCompared(slugs) {
  compared.value = slugs;
  try {
    sessionStorage.setItem(KEY, JSON.stringify(slugs));
  } catch {
    // The choice then lasts until the page is closed.
  }
}

/** @param {string[]} slugs */
export const comparePath = (slugs) => {
  const query = new URLSearchParams(slugs.map((slug) => ["p", slug]));
  return slugs.length ? `/compare?${query}` : "/compare";
};

/** @param {string} slug */
export const productPath = (slug) => `/p/${encodeURIComponent(slug)}`;
/** @param {string} slug */
export const categoryPath = (slug) => `/c/${encodeURIComponent(slug)}`;

/** The form of the addresses of uploaded pictures. */
const UPLOADED = /\/[0-9a-f]{14}\.(jpg|png|webp)$/;

/** Whether an address shows an uploaded picture, or its host is not reserved for examples (RFC 2606).
 * @param {string} url */
export function isReal(url) {
  if (UPLOADED.test(url)) return true;
  if (!url.startsWith("https://")) return false;
  const host = url.slice(8).split(/[/?#:]/)[0];
  return !/(^|\.)example(\.(com|org|net))?$/.test(host);
}

/** @param {any} product
 * @param {number} view */
export function drawing(product, view) {
  /** @param {string | undefined} text */
  const part = (text) => encodeURIComponent(text ?? "");
  const path = `/pictures/${part(product.kind)}/${part(product.category?.slug)}.svg`;
  return `${path}?color=${part(product.color?.text)}&seed=${part(product.slug)}&view=${view}`;
}

/** @param {any} product */
export function picture(product) {
  const image = product.media?.find((/** @type {any} */ media) => media.kind === "IMAGE");
  return image && isReal(image.url) ? image.url : drawing(product, 0);
}

/** Puts the drawing in the place of a picture that does not load.
 * @param {any} product */
export const fallBack = (product) => (/** @type {any} */ event) => {
  const image = event.currentTarget;
  const drawn = new URL(drawing(product, 0), location.href).href;
  if (image.src !== drawn) image.src = drawn;
};

/** @param {{ average: number }} props */
export function Stars({ average: value }) {
  return h("span", { class: `stars s${halfStars(value)}`, role: "img", "aria-label": `${average(value)} of 5 stars` });
}

/** @param {{ stats: any }} props */
export function Rating({ stats }) {
  if (!stats?.count) return h("p", { class: "rating none" }, "No ratings yet");
  return h(
    "p",
    { class: "rating" },
    h(Stars, { average: stats.average }),
    " ",
    h("b", null, average(stats.average)),
    " ",
    h("span", null, `(${count(stats.count)})`),
  );
}

/** @param {{ price: any }} props */
export function Price({ price }) {
  return price ? h("p", { class: "price" }, money(price)) : h("p", { class: "price none" }, "Price on request");
}

/** @param {{ product: any, label?: boolean }} props */
export function CompareButton({ product, label = false }) {
  const chosen = compared.value.includes(product.slug);
  const full = !chosen && compared.value.length >= MAX_COMPARED;
  const toggle = () => {
    const others = compared.value.filter((slug) => slug !== product.slug);
    setCompared(chosen ? others : [...others, product.slug]);
    announcement.value = chosen ? `${product.name} is no longer compared` : `${product.name} will be compared`;
  };
  return h(
    "button",
    {
      type: "button",
      class: label ? "button quiet" : "pick",
      "aria-pressed": String(chosen),
      "aria-disabled": full ? "true" : undefined,
      title: full ? `At most ${MAX_COMPARED} products can be compared` : undefined,
      onClick: full ? () => (announcement.value = `At most ${MAX_COMPARED} products can be compared`) : toggle,
    },
    h("span", { "aria-hidden": "true" }, chosen ? "✓" : "+"),
    label ? (chosen ? " Compared" : " Compare") : h("span", null, " Compare", h("span", { class: "hidden" }, ` ${product.name}`)),
  );
}

/** The specs of a tile: those by which the list can be filtered, in the order of the panel.
 * @param {any} product
 * @param {string[]} keys
 * @returns {any[]} */
function chosenSpecs(product, keys) {
  const find = (/** @type {string} */ key) => product.specs.find((/** @type {any} */ spec) => spec.key === key);
  const chosen = [...new Set(keys)].map(find).filter(Boolean).slice(0, SPECS);
  for (const spec of product.specs) {
    if (chosen.length >= SPECS) break;
    const known = ["gtin", "color"].includes(spec.key) || chosen.some((other) => other.key === spec.key);
    if (!known) chosen.push(spec);
  }
  return chosen;
}

/** @param {{ product: any, keys?: string[], index: number }} props */
export function Tile({ product, keys = [], index }) {
  return h(
    "li",
    { class: "tile" },
    h(
      "a",
      { class: "cover", href: productPath(product.slug) },
      h("img", {
        src: picture(product),
        alt: "",
        width: 320,
        height: 320,
        loading: index < EAGER ? undefined : "lazy",
        onError: fallBack(product),
      }),
      h("span", { class: "brand iso" }, product.brand),
      " ",
      h("span", { class: "name iso" }, product.name),
    ),
    h(Rating, { stats: product.ratingStats }),
    h(Price, { price: product.price }),
    product.specs &&
      h(
        "ul",
        { class: "facts" },
        chosenSpecs(product, keys).map((spec) =>
          h("li", { key: spec.key }, h("span", null, spec.label), " ", spec.text),
        ),
      ),
    h(CompareButton, { product }),
  );
}
