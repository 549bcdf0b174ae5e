// @ts-check
// What a form holds, and what the API takes: a form holds texts, also where a number is meant.
import { fieldsOf, labelOf, shapeOf } from "./schema.js";

/** @typedef {import("./schema.js").Types} Types */
/** @typedef {import("./schema.js").Shape} Shape */
/** @typedef {{ path: string[], message: string, code?: string }} Refusal */

/** Fields that have a difference between nothing and an empty list. */
const EMPTY_IS_NULL = ["allowedValues"];
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** What a form holds for a value.
 * @param {Types} types
 * @param {Shape} shape
 * @param {any} value
 * @returns {any} */
export function draftOf(types, shape, value) {
  if (shape.list) return (value ?? []).map((/** @type {any} */ item) => draftOf(types, { ...shape, list: false }, item));
  if (shape.kind === "INPUT_OBJECT") {
    return Object.fromEntries(fieldsOf(types, shape.name).map((field) => [field.name, draftOf(types, shapeOf(field.type), value ? value[field.name] : startOf(field))]));
  }
  if (shape.name === "Boolean") return value ?? false;
  return value == null ? "" : String(value);
}

/** The default value of a field, as the schema writes it.
 * @param {import("./schema.js").InputField} field */
export function startOf(field) {
  if (field.defaultValue == null) return null;
  try {
    return JSON.parse(field.defaultValue);
  } catch {
    // The value of an enum.
    return field.defaultValue;
  }
}

/** Whether somebody has entered something.
 * @param {any} draft
 * @returns {boolean} */
function isFilled(draft) {
  if (Array.isArray(draft)) return draft.length > 0;
  if (draft && typeof draft === "object") return Object.values(draft).some(isFilled);
  return typeof draft === "string" && draft.trim() !== "";
}

/** What the API takes for what a form holds. Adds what cannot be sent to the refusals.
 * @param {Types} types
 * @param {Shape} shape
 * @param {any} draft
 * @param {{ path: string[], refusals: Refusal[] }} place
 * @returns {any} */
export function valueOf(types, shape, draft, { path, refusals }) {
  // A draft may have been kept from before the API had the field.
  if (draft === undefined) return valueOf(types, shape, draftOf(types, shape, null), { path, refusals });
  if (shape.list) {
    if (!draft.length && EMPTY_IS_NULL.includes(path[path.length - 1])) return null;
    // Of texts there is one in each line; empty lines are none.
    const items = shape.kind === "INPUT_OBJECT" ? draft : draft.filter((/** @type {string} */ text) => text.trim() !== "");
    return items.map((/** @type {any} */ item, /** @type {number} */ at) => valueOf(types, { ...shape, list: false, required: true }, item, { path: [...path, String(at)], refusals }));
  }
  if (shape.kind === "INPUT_OBJECT") {
    if (!shape.required && !isFilled(draft)) return null;
    const fields = fieldsOf(types, shape.name);
    return Object.fromEntries(fields.map((field) => [field.name, valueOf(types, shapeOf(field.type), draft[field.name], { path: [...path, field.name], refusals })]));
  }
  if (shape.name === "Boolean") return draft;
  const text = shape.name === "String" ? draft : draft.trim();
  if (text === "") {
    if (shape.required && shape.name !== "String") refusals.push({ path, message: "is missing" });
    return shape.required ? "" : null;
  }
  if (shape.name !== "Int" && shape.name !== "Float") return text;
  const number = numberOf(text);
  if (number === null || (shape.name === "Int" && !Number.isInteger(number))) {
    refusals.push({ path, message: shape.name === "Int" ? `“${text}” is not a whole number` : `“${text}” is not a number` });
  }
  return number;
}

/** A number as people write it; null if it is none.
 * @param {string} text
 * @returns {number | null} */
export function numberOf(text) {
  const clean = text.trim();
  return NUMBER.test(clean) && Number.isFinite(Number(clean)) ? Number(clean) : null;
}

/** @param {any} a
 * @param {any} b */
export const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** The part of a thing that an input has, such as its own fields without `__typename`.
 * @param {Types} types
 * @param {string} type
 * @param {any} thing
 * @returns {any} */
export function onlyInput(types, type, thing) {
  if (thing == null) return null;
  const part = (/** @type {Shape} */ shape, /** @type {any} */ value) => (shape.kind === "INPUT_OBJECT" ? onlyInput(types, shape.name, value) : (value ?? null));
  return Object.fromEntries(
    fieldsOf(types, type).map(({ name, type: of }) => {
      const shape = shapeOf(of);
      const value = thing[name];
      return [name, shape.list && value ? value.map((/** @type {any} */ item) => part({ ...shape, list: false }, item)) : part(shape, value)];
    }),
  );
}

/** A value as lines of text.
 * @param {any} value
 * @returns {string[]} */
export function linesOf(value) {
  if (value == null || value === "") return ["–"];
  if (typeof value === "boolean") return [value ? "Yes" : "No"];
  if (Array.isArray(value)) return value.length ? value.flatMap(linesOf) : ["–"];
  if (typeof value !== "object") return [String(value)];
  const parts = Object.entries(value).filter(([, part]) => part != null && part !== "");
  return [parts.map(([name, part]) => `${labelOf(name)}: ${linesOf(part).join("; ")}`).join(", ")];
}
