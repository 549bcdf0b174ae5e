// @ts-check
// The input types of the API, as its schema describes them: forms are made from these.
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { fetchAll } from "./data.js";

/** @typedef {{ name: string, description: string, defaultValue: string | null, type: any }} InputField */
/** @typedef {{ kind: string, name: string, inputFields: InputField[] | null, enumValues: { name: string, description: string }[] | null }} Type */
/** @typedef {Map<string, Type>} Types */
/** @typedef {{ required: boolean, list: boolean, name: string, kind: string }} Shape */

/** @type {Types | null} */
let known = null;
/** @type {Promise<Types> | null} */
let asking = null;

/** @returns {Promise<Types>} */
export function loadTypes() {
  asking ??= fetchAll("Inputs", {}).then(
    (data) => (known = new Map(data.__schema.types.map((/** @type {Type} */ type) => [type.name, type]))),
    (error) => {
      asking = null;
      throw error;
    },
  );
  return asking;
}

/** The types, once they are known.
 * @returns {{ types: Types | null, error: Error | null }} */
export function useTypes() {
  const [types, setTypes] = useState(known);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  useEffect(() => {
    if (!types) loadTypes().then(setTypes, setError);
  }, []);
  return { types, error };
}

/** What a field takes: a list or one thing, of which type.
 * @param {any} type
 * @returns {Shape} */
export function shapeOf(type) {
  const required = type.kind === "NON_NULL";
  let inner = required ? type.ofType : type;
  const list = inner.kind === "LIST";
  if (list) inner = inner.ofType.kind === "NON_NULL" ? inner.ofType.ofType : inner.ofType;
  return { required, list, name: inner.name, kind: inner.kind };
}

/** What forms show first. */
const FIRST = ["key", "name", "status", "category", "brand"];

/** @param {InputField} field */
const rank = (field) => (FIRST.includes(field.name) ? FIRST.indexOf(field.name) : FIRST.length);

/** The fields of an input type, without some.
 * @param {Types} types
 * @param {string} name
 * @param {string[]} [without] */
export const fieldsOf = (types, name, without = []) =>
  (types.get(name)?.inputFields ?? []).filter((field) => !without.includes(field.name)).sort((one, other) => rank(one) - rank(other));

/** The values of an enum.
 * @param {Types} types
 * @param {string} name */
export const valuesOf = (types, name) => types.get(name)?.enumValues ?? [];

/** @type {Record<string, string>} */
const LABELS = {
  sku: "SKU",
  isbn: "ISBN",
  ucum: "UCUM code",
  url: "Address",
  alt: "Alternative text",
  slug: "Slug",
  supplierId: "Supplier",
  productId: "Product",
  type: "Type of values",
  baseUnit: "Base unit",
  facetable: "Offer facets",
  filterable: "Allow filters",
  parent: "Parent category",
};

/** A name of the schema, for people: `sizeChart` is “Size chart”.
 * @param {string} name */
export function labelOf(name) {
  if (LABELS[name]) return LABELS[name];
  const words = name.replace(/_/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
