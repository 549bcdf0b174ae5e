// @ts-check
// The specs of a product: any key, values with units, suggestions of what products of the category have.
import { h } from "../vendor/preact/preact.js";
import { useEffect } from "../vendor/preact/hooks.js";
import { percent } from "../shared/format.js";
import { useAsked } from "./data.js";
import { Wrong, nameOf, refusedAt } from "./form.js";
import { categories, dictionary, units } from "./lists.js";
import { Suggested } from "./pickers.js";
import { similarTo } from "./similar.js";
import { numberOf } from "./values.js";

/** @typedef {import("./values.js").Refusal} Refusal */
/** A value as the API takes it, without its key.
 * @typedef {{ text?: string, number?: number | null, unit?: string, boolean?: boolean, date?: string }} SpecValue */
/** A key with its values: those that are listed, and the one that is being written.
 * @typedef {{ key: string, qualifier: string, type: string, text: string, number: string, unit: string, boolean: string, date: string, listed: SpecValue[] }} Row */
/** @typedef {(row: Row) => void} Change */

const PREFIX = "spec:";
const TYPES = ["TEXT", "NUMBER", "QUANTITY", "BOOLEAN", "DATE"];
const SUGGESTED = 12;

/** The name of a spec among the values of a product.
 * @param {{ key: string, qualifier?: string | null }} spec */
const nameOfSpec = ({ key, qualifier }) => PREFIX + key + (qualifier ? `@${qualifier}` : "");

/** @param {string} name */
export const isSpec = (name) => name.startsWith(PREFIX);

/** @param {string} name of a spec among the values of a product */
export const specLabel = (name) => name.slice(PREFIX.length).replace("@", ", ");

/** @param {string} name of a spec among the values of a product */
export function specOf(name) {
  const [key, ...qualifier] = name.slice(PREFIX.length).split("@");
  return { key, qualifier: qualifier.join("@") || null };
}

/** The specs that a product has, as inputs by name: one for each value.
 * @param {any[]} specs */
export function specValues(specs) {
  /** @type {Record<string, any[]>} */
  const values = {};
  for (const { key, qualifier, value } of specs) {
    /** @type {any} */
    const input = { key, qualifier: qualifier ?? null };
    if (value.__typename === "TextValue") input.text = value.text;
    else if (value.__typename === "NumberValue") input.number = value.number;
    else if (value.__typename === "QuantityValue") Object.assign(input, { number: value.value, unit: value.unit });
    else if (value.__typename === "BooleanValue") input.boolean = value.boolean;
    else input.date = value.date.replace(/T00:00:00(\.0+)?Z$/, "");
    (values[nameOfSpec(input)] ??= []).push(input);
  }
  return values;
}

/** @param {string} [key]
 * @param {string} [type]
 * @returns {Row} */
export const emptyRow = (key = "", type = "TEXT") => ({ key, qualifier: "", type, listed: [], ...BLANK });

/** No value that is being written. */
const BLANK = { text: "", number: "", unit: "", boolean: "", date: "" };

/** @param {SpecValue} value */
const typeOf = (value) => (value.text !== undefined ? "TEXT" : value.boolean !== undefined ? "BOOLEAN" : value.date !== undefined ? "DATE" : value.unit === undefined ? "NUMBER" : "QUANTITY");

/** The row of a key: a single value can be written over, several are listed.
 * @param {any[]} inputs
 * @returns {Row} */
export function rowOf(inputs) {
  const [input] = inputs;
  const text = (/** @type {any} */ value) => (value == null ? "" : String(value));
  const row = { ...emptyRow(input.key, typeOf(input)), qualifier: text(input.qualifier) };
  if (inputs.length > 1) return { ...row, listed: inputs.map(({ key, qualifier, ...value }) => value) };
  return { ...row, text: text(input.text), number: text(input.number), unit: text(input.unit), boolean: text(input.boolean), date: text(input.date) };
}

/** A value as a person reads it.
 * @param {SpecValue} value */
const shownValue = (value) => (value.text ?? value.date ?? (value.boolean === undefined ? [value.number, value.unit].filter((part) => part != null).join(" ") : value.boolean ? "Yes" : "No"));

/** What the API takes for a row: an input for each value.
 * @param {Row} row
 * @param {number} at
 * @param {Refusal[]} refusals
 * @returns {any[]} */
export function inputsOf(row, at, refusals) {
  const own = { key: row.key.trim(), qualifier: row.qualifier.trim() || null };
  const listed = row.listed.map((value) => ({ ...own, ...value }));
  const written = !listed.length || isWritten(row) ? inputOf(row, at, refusals) : null;
  if (listed.length && !written && !own.key) refusals.push({ path: ["specs", String(at), "key"], message: "is missing" });
  return written && !listed.some((one) => JSON.stringify(one) === JSON.stringify(written)) ? [...listed, written] : listed;
}

/** Whether a row has a value that is being written.
 * @param {Row} row */
const isWritten = (row) => Boolean(({ TEXT: row.text, NUMBER: row.number, QUANTITY: row.number + row.unit, BOOLEAN: row.boolean, DATE: row.date }[row.type] ?? "").trim());

/** What the API takes for the value that is being written; null for an empty row.
 * @param {Row} row
 * @param {number} at
 * @param {Refusal[]} refusals */
function inputOf(row, at, refusals) {
  if (!row.key.trim() && !isWritten(row)) return null;
  const refuse = (/** @type {string} */ field, /** @type {string} */ message) => refusals.push({ path: ["specs", String(at), field], message });
  /** @type {any} */
  const input = { key: row.key.trim(), qualifier: row.qualifier.trim() || null };
  if (!input.key) refuse("key", "is missing");
  if (row.type === "TEXT") {
    input.text = row.text;
    if (!row.text.trim()) refuse("text", "is missing");
  } else if (row.type === "BOOLEAN") {
    input.boolean = row.boolean === "true";
    if (!row.boolean) refuse("boolean", "choose yes or no");
  } else if (row.type === "DATE") {
    input.date = row.date.trim();
    if (!input.date) refuse("date", "is missing");
  } else {
    const number = numberOf(row.number);
    if (number === null) refuse("number", row.number.trim() ? `“${row.number.trim()}” is not a number` : "is missing");
    input.number = number;
    if (row.type === "QUANTITY") {
      input.unit = row.unit.trim();
      if (!input.unit) refuse("unit", "is missing");
    }
  }
  return input;
}

/** The specs of a draft, by name.
 * @param {Row[]} rows
 * @param {Refusal[]} refusals */
export function valuesOfRows(rows, refusals) {
  /** @type {Record<string, any>} */
  const values = {};
  rows.forEach((row, at) => {
    const inputs = inputsOf(row, at, refusals);
    if (!inputs.length) return;
    const name = nameOfSpec(inputs[0]);
    if (values[name]) refusals.push({ path: ["specs", String(at), "key"], message: `${specLabel(name)} is there twice: add its values to one of both` });
    values[name] = inputs;
  });
  return values;
}

/** The row that an input came from.
 * @param {Row[]} rows
 * @param {string} name */
export const rowAt = (rows, name) => rows.findIndex((row) => row.key.trim() && nameOfSpec({ key: row.key.trim(), qualifier: row.qualifier.trim() || null }) === name);

/** @param {{ rows: Row[], onChange: (rows: Row[]) => void, refusals: Refusal[], category: string, kind: string }} props */
export function Specs({ rows, onChange, refusals, category, kind }) {
  const add = (/** @type {Row} */ row) => {
    onChange([...rows, row]);
    setTimeout(() => document.getElementById(`spec-${rows.length}-${row.key ? "value" : "key"}`)?.focus(), 0);
  };
  return h(
    "fieldset",
    { class: "group specs-group" },
    h("legend", null, "Specs"),
    h(Wrong, { id: "specs-wrong", refusals: refusedAt(refusals, ["specs"]) }),
    rows.map((row, at) =>
      h(SpecRow, {
        key: at,
        row,
        id: `spec-${at}`,
        refusals: refusedAt(refusals, ["specs", String(at)], true),
        onChange: (next) => onChange(rows.map((one, index) => (index === at ? next : one))),
        onRemove: () => onChange(rows.filter((_, index) => index !== at)),
      }),
    ),
    h("p", null, h("button", { type: "button", class: "button quiet small", onClick: () => add(emptyRow()) }, "Add a spec")),
    h(Suggestions, { category, kind, rows, onAdd: add }),
  );
}

/** What most products of the category have, and this one has not.
 * @param {{ category: string, kind: string, rows: Row[], onAdd: (row: Row) => void }} props */
function Suggestions({ category, kind, rows, onAdd }) {
  // While a category is being written, the kind says what is usual.
  const known = categories.use().some((one) => one.slug === category);
  const { data } = useAsked("SuggestedKeys", known ? { category, kind: null } : { category: null, kind });
  const has = new Set(rows.map((row) => row.key));
  const missing = (data?.suggestedSpecKeys ?? []).filter((/** @type {any} */ one) => !has.has(one.specKey.key)).slice(0, SUGGESTED);
  if (!missing.length) return null;
  return h(
    "div",
    { class: "suggested" },
    h("p", { class: "hint" }, `Others of this ${known ? "category" : "kind"} have:`),
    h(
      "ul",
      { class: "chips" },
      missing.map((/** @type {any} */ one) =>
        h("li", { key: one.specKey.key }, h("button", { type: "button", class: "chip add", onClick: () => onAdd(emptyRow(one.specKey.key, one.specKey.type)) }, h("span", { class: "iso" }, one.specKey.label), h("span", { class: "hint" }, ` ${percent(one.share)}`))),
      ),
    ),
  );
}

/** @param {{ row: Row, id: string, refusals: Refusal[], onChange: Change, onRemove?: () => void }} props */
export function SpecRow({ row, id, refusals, onChange, onRemove }) {
  const all = dictionary.use();
  const known = all.find((one) => one.key === row.key || one.aliases.includes(row.key));
  const type = known?.type ?? row.type;
  const set = (/** @type {Partial<Row>} */ part) => onChange({ ...row, ...part });
  // The dictionary may arrive after the key was written.
  useEffect(() => {
    if (known && known.type !== row.type) set({ type: known.type });
  }, [known?.type]);
  const setKey = (/** @type {string} */ key) => {
    const found = all.find((one) => one.key === key || one.aliases.includes(key));
    set({ key, type: found?.type ?? row.type });
  };
  const wrong = (/** @type {string[]} */ fields) => refusals.some((one) => fields.includes(one.path[2]));
  const near = row.key.length > 2 && !known && all.length ? similarTo(row.key, all).slice(0, 3) : [];
  return h(
    "fieldset",
    { class: "spec-row" },
    h("legend", { class: "hidden" }, row.key || "New spec"),
    h("div", { class: "field" }, h("label", { for: `${id}-key` }, "Key"), h(Suggested, { id: `${id}-key`, value: row.key, onChange: setKey, invalid: wrong(["key"]), describedBy: `${id}-wrong`, required: false, options: all.map((one) => ({ value: one.key, label: one.label })) })),
    known
      ? null
      : h(
          "div",
          { class: "field" },
          h("label", { for: `${id}-type` }, "Type"),
          h("select", { id: `${id}-type`, value: row.type, onChange: (/** @type {any} */ event) => set({ type: event.currentTarget.value }) }, TYPES.map((one) => h("option", { key: one, value: one }, nameOf(one)))),
        ),
    row.listed.length > 0 && h(Listed, { row, set }),
    h(Value, { row: { ...row, type }, known, id, wrong, set }),
    h(AnotherValue, { row: { ...row, type }, id, set }),
    h(
      "div",
      { class: "field qualifier-field" },
      h("label", { for: `${id}-qualifier` }, "Only for"),
      h("input", { id: `${id}-qualifier`, value: row.qualifier, placeholder: "everywhere", autocomplete: "off", "aria-invalid": wrong(["qualifier"]) ? "true" : undefined, "aria-describedby": `${id}-wrong`, onInput: (/** @type {any} */ event) => set({ qualifier: event.currentTarget.value }) }),
    ),
    onRemove && h("button", { type: "button", class: "link remove", onClick: onRemove }, "Remove", h("span", { class: "hidden" }, ` ${row.key}`)),
    h(Wrong, { id: `${id}-wrong`, refusals }),
    row.key.length > 2 && !known && all.length > 0 && h("p", { class: "hint new-key" }, "A new key. ", near.length > 0 && ["Did you mean ", near.map((one) => h("button", { type: "button", class: "link", key: one.key, onClick: () => setKey(one.key) }, one.key)), "?"]),
  );
}

/** The values of a key that has several; each can be removed.
 * @param {{ row: Row, set: (part: Partial<Row>) => void }} props */
function Listed({ row, set }) {
  return h(
    "ul",
    { class: "chips values", "aria-label": `Values of ${row.key}` },
    row.listed.map((value, at) =>
      h("li", { key: at }, h("button", { type: "button", class: "chip", onClick: () => set({ listed: row.listed.filter((_, index) => index !== at) }) }, h("span", { class: "iso" }, shownValue(value)), h("span", { "aria-hidden": "true" }, " ×"), h("span", { class: "hidden" }, ` remove from ${row.key}`))),
    ),
  );
}

/** Lists the value that is written, and leaves room for another.
 * @param {{ row: Row, id: string, set: (part: Partial<Row>) => void }} props */
function AnotherValue({ row, id, set }) {
  if (!row.key.trim() || !isWritten(row) || row.type === "BOOLEAN") return null;
  const add = () => {
    const inputs = inputsOf(row, 0, []);
    set({ listed: inputs.map(({ key, qualifier, ...value }) => value), ...BLANK });
    setTimeout(() => document.getElementById(`${id}-value`)?.focus(), 0);
  };
  return h("button", { type: "button", class: "link another", onClick: add }, "Add another value", h("span", { class: "hidden" }, ` of ${row.key}`));
}

/** @param {{ row: Row, known: any, id: string, wrong: (fields: string[]) => boolean, set: (part: Partial<Row>) => void }} props */
function Value({ row, known, id, wrong, set }) {
  const all = units.use();
  const common = { id: `${id}-value`, "aria-describedby": `${id}-wrong`, autocomplete: "off" };
  const invalid = (/** @type {string[]} */ fields) => (wrong(fields) ? "true" : undefined);
  const label = h("label", { for: `${id}-value` }, "Value");
  if (row.type === "BOOLEAN") {
    return h("div", { class: "field" }, label, h("select", { ...common, value: row.boolean, "aria-invalid": invalid(["boolean"]), onChange: (/** @type {any} */ event) => set({ boolean: event.currentTarget.value }) }, h("option", { value: "" }, "–"), h("option", { value: "true" }, "Yes"), h("option", { value: "false" }, "No")));
  }
  if (row.type === "DATE") {
    return h("div", { class: "field" }, label, h("input", { ...common, value: row.date, placeholder: "2026-01-31", "aria-invalid": invalid(["date"]), onInput: (/** @type {any} */ event) => set({ date: event.currentTarget.value }) }));
  }
  if (row.type === "TEXT") {
    const allowed = known?.allowedValues;
    const control = allowed
      ? h(Suggested, { id: `${id}-value`, value: row.text, onChange: (text) => set({ text }), invalid: wrong(["text"]), describedBy: `${id}-wrong`, required: false, options: allowed.map((/** @type {string} */ value) => ({ value })) })
      : h("input", { ...common, value: row.text, "aria-invalid": invalid(["text"]), onInput: (/** @type {any} */ event) => set({ text: event.currentTarget.value }) });
    return h("div", { class: "field value" }, label, control);
  }
  const number = h("div", { class: "field" }, label, h("input", { ...common, value: row.number, inputMode: "decimal", "aria-invalid": invalid(["number"]), onInput: (/** @type {any} */ event) => set({ number: event.currentTarget.value }) }));
  if (row.type === "NUMBER") return number;
  const fitting = known?.dimension ? all.filter((one) => one.dimension === known.dimension) : all;
  return [
    number,
    h("div", { class: "field unit", key: "unit" }, h("label", { for: `${id}-unit` }, "Unit"), h(Suggested, { id: `${id}-unit`, value: row.unit, onChange: (unit) => set({ unit }), invalid: wrong(["unit"]), describedBy: `${id}-wrong`, required: false, options: fitting.map((one) => ({ value: one.symbol, label: `${one.symbol} (${one.dimension})` })) })),
  ];
}
