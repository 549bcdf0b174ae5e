// @ts-check
// Specs in groups, in the units of the shopper.
import { h } from "../vendor/preact/preact.js";

/** One unit of each dimension that people measure differently. `src/pages/product/specs.rs` has the same. */
const SYSTEMS = {
  metric: ["cm", "kg", "l", "m²", "°C", "km/h", "bar"],
  imperial: ["in", "lb", "fl oz", "ft²", "°F", "mph", "psi"],
};

/** @param {string | null} system */
export function unitsOfSystem(system) {
  const units = system === "metric" || system === "imperial" ? SYSTEMS[system] : null;
  return units && units.map((unit) => ({ unit }));
}

/** The groups of dimensions; all others are "Performance".
 * @type {Record<string, string>} */
const GROUPS = {
  length: "Size and weight",
  mass: "Size and weight",
  volume: "Size and weight",
  area: "Size and weight",
  power: "Power",
  energy: "Power",
  voltage: "Power",
  current: "Power",
  charge: "Power",
};
const ORDER = ["General", "Size and weight", "Power", "Performance", "Features", "Dates"];

/** @param {any} spec */
function groupOf({ value }) {
  if (value.__typename === "QuantityValue") return GROUPS[value.dimension] ?? "Performance";
  if (value.__typename === "BooleanValue") return "Features";
  if (value.__typename === "DateValue") return "Dates";
  return "General";
}

/** Specs by group; those of one key stand together.
 * @param {any[]} specs
 * @returns {[string, { key: string, label: string, specs: any[] }[]][]} */
export function grouped(specs) {
  /** @type {Map<string, Map<string, { key: string, label: string, specs: any[] }>>} */
  const groups = new Map(ORDER.map((name) => [name, new Map()]));
  for (const spec of specs) {
    const group = groups.get(groupOf(spec));
    /** @type {{ key: string, label: string, specs: any[] }} */
    const row = group?.get(spec.key) ?? { key: spec.key, label: spec.label, specs: [] };
    row.specs.push(spec);
    group?.set(spec.key, row);
  }
  return [...groups].map(([name, rows]) => /** @type {[string, any[]]} */ ([name, [...rows.values()]])).filter(([, rows]) => rows.length);
}

/** @param {{ specs: any[] }} props */
export function SpecText({ specs }) {
  return specs.map((spec, at) => [
    at > 0 && ", ",
    spec.qualifier && h("span", { class: "qualifier" }, `${spec.qualifier} `),
    h("span", { class: "iso" }, spec.text),
  ]);
}

/** @param {{ specs: any[] }} props */
export function SpecTable({ specs }) {
  return grouped(specs).map(([name, rows]) =>
    h(
      "div",
      { class: "spec-group", key: name },
      h("h3", null, name),
      h(
        "table",
        null,
        h("tbody", null, rows.map((row) => h("tr", { key: row.key }, h("th", { scope: "row" }, row.label), h("td", null, h(SpecText, { specs: row.specs }))))),
      ),
    ),
  );
}

/** @param {{ system: string, onChange: (system: string) => void }} props */
export function UnitSwitch({ system, onChange }) {
  const options = [
    ["", "As entered"],
    ["metric", "Metric"],
    ["imperial", "Imperial"],
  ];
  return h(
    "fieldset",
    { class: "switch" },
    h("legend", null, "Units"),
    options.map(([value, label]) =>
      h(
        "label",
        { key: value },
        h("input", { type: "radio", name: "units", value, checked: system === value, onChange: () => onChange(value) }),
        h("span", null, label),
      ),
    ),
  );
}
