// @ts-check
// Controls that choose among what there is: categories, suppliers, products, units.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { money } from "../shared/format.js";
import { announcement } from "../shared/navigation.js";
import { fetchAll } from "./data.js";
import { units } from "./lists.js";

/** @typedef {import("./form.js").Control} Control */

const DEBOUNCE = 200;
/** The longest search that the API takes. */
const MAX_SEARCH_LENGTH = 200;

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

/** What a search finds, a moment after it was typed.
 * @param {string} operation
 * @param {string} field
 * @param {string} text
 * @returns {any[]} */
export function useFound(operation, field, text) {
  const [found, setFound] = useState(/** @type {any[]} */ ([]));
  const wanted = text.trim();
  useEffect(() => {
    // Without a letter or digit there is nothing to search for.
    if (!/[\p{L}\p{N}]/u.test(wanted) || wanted.length > MAX_SEARCH_LENGTH) {
      setFound([]);
      return undefined;
    }
    let current = true;
    const arrived = (/** @type {any} */ data) => current && setFound(data[field].nodes ?? data[field]);
    const timer = setTimeout(() => fetchAll(operation, { search: wanted }).then(arrived, () => {}), DEBOUNCE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [operation, wanted]);
  return found;
}

/** @type {Map<string, string[]>} the paths of categories, by slug */
const paths = new Map();

/** @param {Control} props */
export function CategoryField(props) {
  const found = useFound("FindCategories", "categories", props.value);
  const [path, setPath] = useState(/** @type {string[] | null} */ (null));
  for (const one of found) paths.set(one.slug, one.path);
  useEffect(() => {
    const slug = props.value.trim();
    setPath(paths.get(slug) ?? null);
    if (!slug || paths.has(slug)) return undefined;
    let current = true;
    const arrived = (/** @type {any} */ { category }) => {
      if (category) paths.set(slug, category.path);
      if (category && current) setPath(category.path);
    };
    const timer = setTimeout(() => fetchAll("CategoryPath", { slug }).then(arrived, () => {}), DEBOUNCE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [props.value, found]);
  return h(
    "span",
    { class: "picker" },
    h(Suggested, { ...props, options: found.map((one) => ({ value: one.slug, label: one.path.join(" › ") })) }),
    // Its line is there before the path, so that nothing below moves while somebody aims at it.
    h("span", { class: "hint iso" }, path ? path.join(" › ") : "\u00a0"),
  );
}

/** A spec key, with those that a search finds.
 * @param {Control} props */
export function KeyField(props) {
  const found = useFound("FindSpecKeys", "specKeys", props.value);
  return h(Suggested, { ...props, options: found.map((one) => ({ value: one.key, label: one.label })) });
}

/** @type {Map<string, any>} suppliers, by id */
const known = new Map();

/** @param {any} supplier */
const titleOf = (supplier) => (supplier.country ? `${supplier.name} (${supplier.country})` : supplier.name);

/** What a supplier is called.
 * @param {{ id: string }} props */
export function SupplierName({ id }) {
  const [supplier, setSupplier] = useState(known.get(id) ?? null);
  useEffect(() => {
    setSupplier(known.get(id) ?? null);
    if (known.has(id)) return;
    fetchAll("SupplierName", { id }).then(
      (data) => {
        if (data.supplier) known.set(id, data.supplier);
        setSupplier(data.supplier);
      },
      () => {},
    );
  }, [id]);
  return h("span", { class: "iso" }, supplier ? titleOf(supplier) : "a supplier");
}

/** Chooses a supplier by searching for it.
 * @param {Control} props */
export function SupplierField({ id, value, onChange, invalid, describedBy }) {
  const [text, setText] = useState("");
  const found = useFound("FindSuppliers", "suppliers", text);
  const choose = (/** @type {string} */ next) => {
    onChange(next);
    setText("");
  };
  for (const one of found) known.set(one.id, one);
  useEffect(() => {
    if (found.length) announcement.value = `${found.length} suppliers found`;
  }, [found]);
  return h(
    "span",
    { class: "picker" },
    value ? h("span", null, h(SupplierName, { id: value }), " ", h("button", { type: "button", class: "link", onClick: () => choose("") }, "Remove", h("span", { class: "hidden" }, " the supplier"))) : h("span", { class: "hint" }, "None chosen"),
    h("input", { id, value: text, type: "search", placeholder: "Search by name", autocomplete: "off", "aria-invalid": invalid ? "true" : undefined, "aria-describedby": describedBy, onInput: (/** @type {any} */ event) => setText(event.currentTarget.value) }),
    found.length > 0 &&
      h(
        "ul",
        { class: "found" },
        found.map((one) => h("li", { key: one.id }, h("button", { type: "button", class: "link iso", onClick: () => choose(one.id) }, titleOf(one)))),
      ),
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
    }, DEBOUNCE);
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
