// @ts-check
// All units by dimension. A unit can be added, and never changed: stored values are compared through it.
import { h } from "../vendor/preact/preact.js";
import { plural } from "../shared/format.js";
import { useAsked } from "./data.js";
import { NewThing } from "./edit.js";
import { units } from "./lists.js";
import { Loading, Opened, Table } from "./parts.js";
import { useTypes } from "./schema.js";

export function Units() {
  const { types, error: untyped } = useTypes();
  const { data, error, reload } = useAsked("AllUnits", {});
  if (!data || !types) return h(Loading, { error: error ?? untyped, reload });
  const dimensions = [...new Set(data.units.map((/** @type {any} */ one) => one.dimension))].sort();
  const made = () => {
    units.refresh();
    reload();
  };
  return h(
    "div",
    { class: "page" },
    h("div", { class: "heading" }, h("h1", null, "Units"), h("p", { class: "total" }, plural(data.units.length, "unit"))),
    h(Opened, { label: "Define a unit …" }, h(NewThing, { types, type: "DefineUnitInput", what: "unit", operation: "DefineUnit", field: "unit", onMade: made })),
    dimensions.map((dimension) => {
      const own = data.units.filter((/** @type {any} */ one) => one.dimension === dimension);
      const base = own.find((/** @type {any} */ one) => one.factor === 1 && one.offset === 0);
      return h(
        "section",
        { key: dimension },
        h("h2", null, dimension),
        h(
          Table,
          { label: `Units of ${dimension}`, head: ["Unit", `In ${base?.symbol ?? "the base unit"}`, "Other spellings"] },
          own.map((/** @type {any} */ one) =>
            h("tr", { key: one.symbol }, h("th", { scope: "row", class: "iso" }, one.symbol), h("td", { class: "number" }, `× ${one.factor}${one.offset ? ` + ${one.offset}` : ""}`), h("td", { class: "iso" }, [...new Set([one.ucum, ...one.aliases].filter((name) => name && name !== one.symbol))].join(", ") || "–")),
          ),
        ),
      );
    }),
  );
}
