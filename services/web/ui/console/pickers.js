// @ts-check
// Controls that choose among what there is: categories, suppliers, products, units.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { money } from "../shared/format.js";
import { announcement } from "../shared/navigation.js";
import { fetchAll } from "./data.js";
import { categories, suppliers, units } from "./lists.js";

/** @typedef {import("./form.js").Control} Control */

const PAUSE = 200;

/** A text with suggestions. Others can be written too: the API says whether they fit.
 * @param {Control & { options: { value: string, label?: string }[] }} props */
export function Suggested({ id, value, onChange, invalid, describedBy, required, options }) {
  return [
    h("input", {
      key: "i",
      id,
      value,
      required,
      list: `${id}-list`,
      autocomplete: "off",
      spellcheck: false,
      "aria-invalid": invalid ? "true" : undefined,
      "aria-describedby": describedBy,
      onInput: (/** @type {any} */ event) => onChange(event.currentTarget.value),
    }),
    h("datalist", { key: "l", id: `${id}-list` }, options.map((one) => h("option", { key: one.value, value: one.value }, one.label ?? one.value))),
  ];
}

/** @param {Control} props */
export function CategoryField(props) {
  const all = categories.use();
  const chosen = all.find((one) => one.slug === props.value);
  return h(
    "span",
    { class: "picker" },
    h(Suggested, { ...props, options: all.map((one) => ({ value: one.slug, label: one.path.join(" › ") })) }),
    chosen && h("span", { class: "hint iso" }, chosen.path.join(" › ")),
  );
}

/** @param {Control} props */
export function SupplierField({ id, value, onChange, invalid, describedBy }) {
  const all = suppliers.use();
  const known = all.some((one) => one.id === value);
  return h(
    "select",
    { id, value, "aria-invalid": invalid ? "true" : undefined, "aria-describedby": describedBy, onChange: (/** @type {any} */ event) => onChange(event.currentTarget.value) },
    h("option", { value: "" }, "None"),
    value && !known && h("option", { value }, "The present one"),
    all.map((one) => h("option", { key: one.id, value: one.id }, one.country ? `${one.name} (${one.country})` : one.name)),
  );
}

/** @param {Control} props */
export function UnitField(props) {
  const all = units.use();
  return h(Suggested, { ...props, options: all.map((one) => ({ value: one.symbol, label: `${one.symbol} (${one.dimension})` })) });
}

/** @param {Control} props */
export function DimensionField(props) {
  const all = units.use();
  return h(Suggested, { ...props, options: [...new Set(all.map((one) => one.dimension))].map((value) => ({ value })) });
}

/** @type {Map<string, any>} what products are called, by id */
const named = new Map();

/** Chooses a product by searching for it.
 * @param {Control} props */
export function ProductField({ id, value, onChange, invalid, describedBy }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState(/** @type {any[]} */ ([]));
  const [product, setProduct] = useState(named.get(value) ?? null);
  const pause = useRef(0);
  useEffect(() => {
    const known = named.get(value) ?? null;
    setProduct(known);
    if (!value || known) return;
    fetchAll("ProductNames", { ids: [value] }).then(({ nodes: [node] }) => {
      named.set(value, node);
      setProduct(node);
    }, () => {});
  }, [value]);
  const search = (/** @type {any} */ event) => {
    const wanted = event.currentTarget.value;
    setText(wanted);
    clearTimeout(pause.current);
    if (wanted.trim().length < 2) return setFound([]);
    pause.current = setTimeout(async () => {
      const { products } = await fetchAll("FindProducts", { search: wanted }).catch(() => ({ products: { nodes: [] } }));
      setFound(products.nodes);
      announcement.value = products.nodes.length ? `${products.nodes.length} products found` : "No product found";
    }, PAUSE);
  };
  const choose = (/** @type {any} */ one) => {
    named.set(one.id, one);
    onChange(one.id);
    setText("");
    setFound([]);
  };
  return h(
    "span",
    { class: "picker" },
    h("span", { class: "iso" }, product ? product.name : value ? value : "None chosen"),
    h("input", { id, value: text, type: "search", placeholder: "Search by name or SKU", autocomplete: "off", "aria-invalid": invalid ? "true" : undefined, "aria-describedby": describedBy, onInput: search }),
    found.length > 0 &&
      h(
        "ul",
        { class: "found" },
        found.map((one) => h("li", { key: one.id }, h("button", { type: "button", class: "link iso", onClick: () => choose(one) }, `${one.name} (${one.sku}${one.price ? `, ${money(one.price)}` : ""})`))),
      ),
  );
}
