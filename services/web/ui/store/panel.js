// @ts-check
// The filters of a list: what can be chosen, how many products a choice leaves, ranges in any unit.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { ask } from "../shared/graphql.js";
import { count, money, plural } from "../shared/format.js";
import { edited, facetVariables, isFilter, numbers, parameterOf, toggled } from "./address.js";

/** How many facets are open at first. */
const OPEN = 6;
/** From how many values on a list can be searched in. */
const SEARCHED = 12;
const MAX_VALUES = 200;

/** @typedef {{ symbol: string, dimension: string }} Unit */
/** All units, once they are known.
 * @type {Promise<Unit[]> | undefined} */
let units;
/** @returns {Promise<Unit[]>} */
const allUnits = () => (units ??= ask("Units", {}).then((data) => data.units));

/** A list; `counted` are the variables of its facets, if they are not those of the storefront.
 * @typedef {{ category: string | null, query: URLSearchParams, go: (query: URLSearchParams) => void, counted?: any }} List */

/** @param {{ facets: any[], list: List, place: string }} props */
export function Panel({ facets, list, place }) {
  const shown = facets.filter((facet) => list.category === null || facet.key !== "@category");
  // While the category stays, groups keep their places and stay as they were opened: those that come later stand at the end.
  const kept = useRef({ category: list.category, order: /** @type {string[]} */ ([]), open: /** @type {Map<string, boolean>} */ (new Map()) });
  if (kept.current.category !== list.category) kept.current = { category: list.category, order: [], open: new Map() };
  const { order, open } = kept.current;
  for (const facet of shown) {
    if (order.includes(facet.key)) continue;
    open.set(facet.key, order.length < OPEN);
    order.push(facet.key);
  }
  const places = shown.map((facet) => ({ facet, at: order.indexOf(facet.key) })).sort((one, other) => one.at - other.at);
  return h(
    "div",
    { class: "facets" },
    places.map(({ facet, at }) => h(Facet, { key: facet.key, facet, list, open: open.get(facet.key) ?? false, onToggle: (/** @type {boolean} */ next) => open.set(facet.key, next), id: `${place}-${at}` })),
  );
}

/** @param {{ facet: any, list: List, open: boolean, onToggle: (open: boolean) => void, id: string }} props */
function Facet({ facet, list, open, onToggle, id }) {
  const chosen = facet.values.some((/** @type {any} */ value) => value.selected);
  const range = ["NUMBER", "QUANTITY", "PRICE"].includes(facet.kind);
  return h(
    "details",
    { class: "facet", open: open || chosen, onToggle: (/** @type {any} */ event) => onToggle(event.currentTarget.open) },
    h("summary", null, h("h2", { class: "facet-name" }, facet.label)),
    h(Values, { facet, list, id }),
    range && h(Range, { facet, list, id }),
    facet.accuracy !== "EXACT" &&
      h("p", { class: "hint" }, facet.accuracy === "ESTIMATE" ? "Estimated from a sample." : `Counted at ${new Date(facet.asOf).toTimeString().slice(0, 5)}.`),
  );
}

/** @param {{ facet: any, list: List, id: string }} props */
function Values({ facet, list, id }) {
  const [all, setAll] = useState(/** @type {any[] | null} */ (null));
  const [wanted, setWanted] = useState("");
  const address = list.query.toString();
  useEffect(() => setAll(null), [address]);
  const more = facet.distinctValues - facet.values.length;
  const showAll = async () => {
    const counted = list.counted ?? facetVariables(list.category, list.query);
    const variables = { ...counted, keys: [facet.key], limit: MAX_VALUES };
    const data = await ask("Facets", variables);
    setAll(data.products.facets[0]?.values ?? []);
  };
  const fold = (/** @type {string} */ text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const empty = (/** @type {any} */ value) => !isText(facet) && value.count === 0 && !value.selected;
  const fits = (/** @type {any} */ value) => !all || fold(value.label).includes(fold(wanted));
  const values = (all ?? facet.values).filter((/** @type {any} */ value) => !empty(value) && fits(value));
  return h(
    "div",
    null,
    all &&
      all.length >= SEARCHED &&
      h(
        "div",
        { class: "within" },
        h("label", { class: "hidden", for: `${id}-within` }, `Search in ${facet.label}`),
        h("input", {
          id: `${id}-within`,
          type: "search",
          placeholder: `Search in ${facet.label.toLowerCase()}`,
          value: wanted,
          onInput: (/** @type {any} */ event) => setWanted(event.currentTarget.value),
        }),
      ),
    h(
      "ul",
      { class: "values" },
      values.map((/** @type {any} */ value, /** @type {number} */ index) => h(Value, { key: value.label + value.path.join("/"), facet, value, list, id: `${id}-${index}` })),
    ),
    all && !values.length && h("p", { class: "hint" }, `Nothing in ${facet.label.toLowerCase()} contains “${wanted}”.`),
    !all && more > 0 && isText(facet) && h("button", { type: "button", class: "link", onClick: showAll }, `Show all ${count(facet.distinctValues)}`),
  );
}

/** @param {any} facet */
const isText = (facet) => ["TEXT", "BRAND", "SUPPLIER_COUNTRY", "CATEGORY"].includes(facet.kind);

/** The names of countries, in the language of the page. */
const countries = new Intl.DisplayNames("en", { type: "region", fallback: "code" });

/** @param {any} facet
 * @param {any} value
 * @returns {string} */
function shownLabel(facet, { label, filter }) {
  if (facet.key === "@country" && /^[A-Z]{2}$/.test(label)) return countries.of(label) ?? label;
  if (facet.key !== "@price" || !facet.priceRange) return label;
  const end = (/** @type {string} */ amount) => money({ amount, currency: facet.priceRange.min.currency });
  const { gte, lte } = filter.price;
  return lte == null ? `${end(gte)} and more` : `${end(gte)} – ${end(lte)}`;
}

/** @param {{ facet: any, value: any, list: List, id: string }} props */
function Value({ facet, value, list, id }) {
  const parameter = parameterOf(facet, value);
  if (!parameter) return null;
  // The address knows of a choice before the counts do.
  const same = (/** @type {string} */ chosen) => chosen.toLowerCase() === parameter.value.toLowerCase();
  const chosen = list.query.getAll(parameter.name).some(same);
  const change = () => list.go(toggled(list.query, parameter));
  const estimated = facet.accuracy === "ESTIMATE";
  const number = estimated ? `≈ ${count(value.count)} ± ${count(value.margin)}` : count(value.count);
  const spoken = estimated ? `about ${count(value.count)}, give or take ${count(value.margin)}` : plural(value.count, "product");
  return h(
    "li",
    { class: value.count === 0 && !value.selected ? "nothing" : "" },
    h("input", { type: "checkbox", id, checked: chosen, onChange: change }),
    h(
      "label",
      { for: id },
      h("span", { class: "iso" }, shownLabel(facet, value)),
      h("span", { class: "count", "aria-hidden": "true" }, number),
      h("span", { class: "hidden" }, `, ${spoken}`),
    ),
  );
}

/** @param {{ facet: any, list: List, id: string }} props */
function Range({ facet, list, id }) {
  const isPrice = facet.kind === "PRICE";
  const name = isPrice ? "price" : `n.${facet.key}`;
  const unit = facet.numberRange?.unit ?? null;
  const test = isPrice ? priceTest(list.query.get("price")) : numbers(list.query.get(name) ?? "");
  const inUnit = !test || isPrice || (test.unit ?? null) === unit;
  const [low, setLow] = useState("");
  const [high, setHigh] = useState("");
  const current = list.query.get(name) ?? "";
  useEffect(() => {
    setLow(inUnit ? String(test?.gte ?? "") : "");
    setHigh(inUnit ? String(test?.lte ?? test?.lt ?? "") : "");
  }, [current, unit]);
  const limits = isPrice
    ? facet.priceRange && [facet.priceRange.min.amount, facet.priceRange.max.amount]
    : facet.numberRange && [facet.numberRange.min, facet.numberRange.max].map((end) => String(Math.round(end * 100) / 100));
  if (!limits) return null;
  const apply = (/** @type {Event} */ event) => {
    event.preventDefault();
    const clean = (/** @type {string} */ text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? text.trim() : "");
    const range = `${clean(low)}..${clean(high)}`;
    list.go(
      edited(list.query, (next) => {
        next.delete(name);
        if (range !== "..") next.set(name, isPrice || unit === null ? range : `${range}~${unit}`);
      }),
    );
  };
  const field = (/** @type {string} */ which, /** @type {string} */ value, /** @type {(text: string) => void} */ set, /** @type {string} */ limit) => [
    h("label", { key: "l", class: "hidden", for: `${id}-${which}` }, `${facet.label} ${which}${unit ? ` in ${unit}` : ""}`),
    h("input", {
      key: "i",
      id: `${id}-${which}`,
      inputMode: "decimal",
      value,
      placeholder: limit,
      pattern: "-?[0-9]*\\.?[0-9]*",
      onInput: (/** @type {any} */ event) => set(event.currentTarget.value),
    }),
  ];
  return h(
    "form",
    { class: "range", onSubmit: apply },
    field("from", low, setLow, limits[0]),
    h("span", { "aria-hidden": "true" }, "–"),
    field("to", high, setHigh, limits[1]),
    unit !== null && h(UnitChoice, { facet, unit, list, id }),
    h("button", { type: "submit", class: "button quiet" }, "Set", h("span", { class: "hidden" }, ` ${facet.label}`)),
  );
}

/** @param {string | null} text
 * @returns {Record<string, any> | undefined} */
function priceTest(text) {
  const [gte, lte] = (text ?? "").split("..");
  return text ? { gte, lte } : undefined;
}

/** @param {{ facet: any, unit: string, list: List, id: string }} props */
function UnitChoice({ facet, unit, list, id }) {
  const [known, setKnown] = useState([unit]);
  useEffect(() => {
    let gone = false;
    allUnits().then((all) => {
      const dimension = all.find((one) => one.symbol === unit)?.dimension;
      const alike = all.filter((one) => one.dimension === dimension).map((one) => one.symbol);
      if (!gone && alike.includes(unit)) setKnown(alike);
    }, () => {});
    return () => (gone = true);
  }, [unit]);
  const change = (/** @type {any} */ event) => {
    const next = event.currentTarget.value;
    list.go(edited(list.query, (query) => query.set(`u.${facet.key}`, next)));
  };
  return h(
    "span",
    null,
    h("label", { class: "hidden", for: `${id}-unit` }, `Unit of ${facet.label}`),
    h("select", { id: `${id}-unit`, value: unit, onChange: change }, known.map((symbol) => h("option", { key: symbol, value: symbol }, symbol))),
  );
}

/** What is chosen, each with the way to undo it.
 * @param {URLSearchParams} query
 * @param {any[]} facets
 * @returns {{ label: string, without: URLSearchParams }[]} */
export function choices(query, facets) {
  const found = [];
  for (const [name, value] of query) {
    if (!isFilter(name)) continue;
    const without = edited(query, (next) => {
      const others = next.getAll(name).filter((other) => other !== value);
      next.delete(name);
      for (const other of others) next.append(name, other);
    });
    found.push({ label: labelOf(name, value, facets), without });
  }
  return found;
}

/** @param {string} name
 * @param {string} value
 * @param {any[]} facets */
function labelOf(name, value, facets) {
  const key = /^[tnbd]\./.test(name) ? name.slice(2).split("@")[0] : `@${name}`;
  const facet = facets.find((one) => one.key === key);
  const label = facet?.label ?? key.replace(/^@/, "").replaceAll("_", " ");
  const known = facet?.values.find((/** @type {any} */ one) => {
    const parameter = parameterOf(facet, one);
    return parameter?.name === name && parameter.value === value;
  });
  if (known) return `${label}: ${shownLabel(facet, known)}`;
  if (name.startsWith("b.")) return `${label}: ${value}`;
  const [range, unit] = value.split("~");
  if (!range.includes("..") || name.startsWith("t.")) return `${label}: ${value.replace(/^=/, "")}`;
  const [low, high] = range.replace("<", "").split("..");
  const show = (/** @type {string} */ end) => {
    if (name !== "price") return unit ? `${end} ${unit}` : end;
    return money({ amount: end, currency: facet?.priceRange?.min.currency ?? "EUR" });
  };
  if (!low) return `${label}: up to ${show(high)}`;
  if (!high) return `${label}: from ${show(low)}`;
  return `${label}: ${low} to ${show(high)}`;
}
