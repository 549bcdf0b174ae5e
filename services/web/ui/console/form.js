// @ts-check
// Forms, made from the input types of the API. A field that the API adds has a control at once.
import { h } from "../vendor/preact/preact.js";
import { useRef, useState } from "../vendor/preact/hooks.js";
import { first as page } from "../shared/first.js";
import { isOwn } from "../shared/pictures.js";
import { PICTURE_TYPES, sendPicture } from "../shared/send.js";
import { fieldsOf, labelOf, shapeOf, valuesOf } from "./schema.js";
import { CategoryField, DimensionField, ProductField, SupplierField, UnitField } from "./pickers.js";
import { draftOf } from "./values.js";

/** @typedef {import("./values.js").Refusal} Refusal */
/** @typedef {import("./schema.js").Types} Types */
/** @typedef {{ id: string, value: string, onChange: (value: string) => void, invalid: boolean, describedBy: string, required: boolean }} Control */

/** Texts that have several lines. */
const LONG = ["description", "ingredients", "text", "note"];

/** Fields with a control of their own, by name.
 * @type {Record<string, (props: Control) => any>} */
const CHOSEN = {
  category: CategoryField,
  parent: CategoryField,
  supplierId: SupplierField,
  productId: ProductField,
  unit: UnitField,
  baseUnit: UnitField,
  dimension: DimensionField,
};

/** @param {string} text */
export const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?:]$/.test(text) ? "" : "."}`;

/** @param {string} name of the value of an enum */
export const nameOf = (name) => {
  const words = name.toLowerCase().replace(/_/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** @param {string[]} path
 * @param {string[]} start */
const within = (path, start) => start.every((step, at) => path[at] === step);

/** What is refused at a path itself, or for a control, anywhere below it.
 * @param {Refusal[]} refusals
 * @param {string[]} path
 * @param {boolean} [below] */
export const refusedAt = (refusals, path, below = false) =>
  refusals.filter((one) => within(one.path, path) && (below || one.path.length === path.length));

/** What is refused about no field that a form shows.
 * @param {Refusal[]} refusals
 * @param {string[]} shown the names of the fields */
export const refusedBeside = (refusals, shown) => refusals.filter((one) => one.code !== "REVISION_CONFLICT" && !shown.includes(one.path[0]));

/** @param {{ id: string, refusals: Refusal[] }} props */
export function Wrong({ id, refusals }) {
  return h("span", { id, class: "wrongs" }, refusals.map((one) => h("span", { class: "wrong", role: "alert", key: one.message }, sentence(one.message))));
}

/** The fields of an input type.
 * `beside` says what stands below a field of this name.
 * @param {{ types: Types, type: string, draft: any, onChange: (draft: any) => void, refusals: Refusal[], path?: string[], without?: string[], id: string, terse?: boolean, beside?: (name: string) => any }} props */
export function Fields({ types, type, draft, onChange, refusals, path = [], without = [], id, terse = false, beside }) {
  return fieldsOf(types, type, without).flatMap((field) => [
    h(Field, {
      key: field.name,
      types,
      field,
      draft: draft[field.name],
      onChange: (/** @type {any} */ value) => onChange({ ...draft, [field.name]: value }),
      refusals,
      path: [...path, field.name],
      id,
      terse,
    }),
    beside?.(field.name),
  ]);
}

/** @param {{ types: Types, field: import("./schema.js").InputField, draft: any, onChange: (value: any) => void, refusals: Refusal[], path: string[], id: string, terse?: boolean }} props */
export function Field({ types, field, draft: kept, onChange, refusals, path, id, terse = false }) {
  const shape = shapeOf(field.type);
  const draft = kept ?? draftOf(types, shape, null);
  const own = `${id}-${path.join("-")}`;
  const hint = terse ? "" : hintOf(field.description);
  if (shape.list && shape.kind === "INPUT_OBJECT") return h(Rows, { types, field, draft, onChange, refusals, path, id });
  if (shape.kind === "INPUT_OBJECT") {
    return h(
      "fieldset",
      { class: "group" },
      h("legend", null, labelOf(field.name)),
      hint && h("p", { class: "hint" }, hint),
      h(Wrong, { id: `${own}-wrong`, refusals: refusedAt(refusals, path) }),
      h("div", { class: "row" }, h(Fields, { types, type: shape.name, draft, onChange, refusals, path, id, terse: true })),
    );
  }
  const wrong = refusedAt(refusals, path, true);
  const control = { id: own, value: draft, onChange, invalid: wrong.length > 0, describedBy: `${own}-wrong${hint ? ` ${own}-hint` : ""}`, required: shape.required };
  if (shape.name === "Boolean") {
    return h(
      "div",
      { class: "field" },
      h("label", { class: "check" }, h("input", { type: "checkbox", id: own, checked: draft, "aria-describedby": control.describedBy, onChange: (/** @type {any} */ event) => onChange(event.currentTarget.checked) }), labelOf(field.name)),
      hint && h("span", { class: "hint", id: `${own}-hint` }, hint),
      h(Wrong, { id: `${own}-wrong`, refusals: wrong }),
    );
  }
  return h(
    "div",
    { class: `field${shape.list || LONG.includes(field.name) ? " tall" : ""}` },
    h("label", { for: own }, labelOf(field.name), shape.list && h("span", { class: "hint" }, " one in each line"), shape.required && h("span", { class: "hint" }, " required")),
    controlOf(types, field.name, shape, control),
    hint && h("span", { class: "hint", id: `${own}-hint` }, hint),
    h(Wrong, { id: `${own}-wrong`, refusals: wrong }),
  );
}

/** What a description says beside the name of the field, such as a limit.
 * @param {string | null} description */
const hintOf = (description) => {
  const text = (description ?? "").replace(/\s+/g, " ").replace(/`/g, "").trim();
  return /^The (global id of the )?[\w-]+( of the [\w-]+)?\.$/.test(text) ? "" : text;
};

/** @param {Types} types
 * @param {string} name
 * @param {import("./schema.js").Shape} shape
 * @param {any} control */
function controlOf(types, name, shape, control) {
  const { id, value, onChange, invalid, describedBy, required } = control;
  const common = { id, "aria-invalid": invalid ? "true" : undefined, "aria-describedby": describedBy, required };
  const input = (/** @type {any} */ event) => onChange(event.currentTarget.value);
  if (shape.list) {
    const change = (/** @type {any} */ event) => onChange(event.currentTarget.value.split("\n"));
    return h("textarea", { ...common, rows: Math.min(8, Math.max(2, value.length + 1)), value: value.join("\n"), onInput: change });
  }
  if (CHOSEN[name]) return h(CHOSEN[name], control);
  if (shape.kind === "ENUM") {
    return h(
      "select",
      { ...common, value, onChange: input },
      (!required || value === "") && h("option", { value: "" }, "–"),
      valuesOf(types, shape.name).map((one) => h("option", { key: one.name, value: one.name }, nameOf(one.name))),
    );
  }
  if (LONG.includes(name)) return h("textarea", { ...common, rows: 5, value, onInput: input });
  const decimal = ["Int", "Float", "Decimal"].includes(shape.name);
  return h("input", { ...common, value, autocomplete: "off", spellcheck: shape.name === "String", inputMode: decimal ? "decimal" : shape.name === "URL" ? "url" : undefined, onInput: input });
}

/** A list of things with fields of their own.
 * @param {{ types: Types, field: import("./schema.js").InputField, draft: any[], onChange: (value: any[]) => void, refusals: Refusal[], path: string[], id: string }} props */
function Rows({ types, field, draft, onChange, refusals, path, id }) {
  const shape = { ...shapeOf(field.type), list: false };
  const label = labelOf(field.name);
  const own = `${id}-${path.join("-")}`;
  const add = () => {
    onChange([...draft, draftOf(types, shape, null)]);
    const first = `#${CSS.escape(own)} > .item:last-of-type :is(input, select, textarea)`;
    setTimeout(() => /** @type {HTMLElement | null} */ (document.querySelector(first))?.focus(), 0);
  };
  const without = (/** @type {number} */ at) => onChange(draft.filter((_, index) => index !== at));
  const up = (/** @type {number} */ at) => {
    const next = [...draft];
    [next[at - 1], next[at]] = [next[at], next[at - 1]];
    onChange(next);
  };
  return h(
    "fieldset",
    { class: "group", id: own },
    h("legend", null, label),
    h("p", { class: "hint" }, hintOf(field.description)),
    h(Wrong, { id: `${own}-wrong`, refusals: refusedAt(refusals, path) }),
    draft.map((item, at) =>
      h(
        "fieldset",
        { class: "item", key: at },
        h("legend", { class: "hidden" }, `${label} ${at + 1}`),
        field.name === "media" && isOwn(item.url) && h("img", { class: "preview", src: item.url, alt: "", width: 72, height: 72 }),
        h(Wrong, { id: `${own}-${at}-wrong`, refusals: refusedAt(refusals, [...path, String(at)]) }),
        h("div", { class: "row" }, h(Fields, { types, type: shape.name, draft: item, onChange: (/** @type {any} */ next) => onChange(draft.map((one, index) => (index === at ? next : one))), refusals, path: [...path, String(at)], id, terse: true })),
        h(
          "p",
          { class: "item-buttons" },
          at > 0 && h("button", { type: "button", class: "link", onClick: () => up(at) }, "Move up", h("span", { class: "hidden" }, ` ${label} ${at + 1}`)),
          h("button", { type: "button", class: "link", onClick: () => without(at) }, "Remove", h("span", { class: "hidden" }, ` ${label} ${at + 1}`)),
        ),
      ),
    ),
    h("button", { type: "button", class: "button quiet small", onClick: add }, "Add", h("span", { class: "hidden" }, ` to ${label}`)),
    field.name === "media" && page.pictures && h(PictureSender, { id: own, onSent: (url) => onChange([...draft, { ...draftOf(types, shape, null), url, kind: "IMAGE" }]) }),
  );
}

/** Sends a picture and returns its address.
 * @param {{ id: string, onSent: (url: string) => void }} props */
function PictureSender({ id, onSent }) {
  const [busy, setBusy] = useState("");
  const [wrong, setWrong] = useState("");
  // The form may have changed by the time that the picture has arrived.
  const last = useRef(onSent);
  last.current = onSent;
  const choose = async (/** @type {any} */ event) => {
    const [file] = event.currentTarget.files;
    event.currentTarget.value = "";
    if (!file) return;
    setWrong("");
    try {
      last.current(await sendPicture(file, setBusy));
    } catch (error) {
      setWrong(sentence(/** @type {Error} */ (error).message));
    }
    setBusy("");
  };
  return h(
    "div",
    { class: "field" },
    h("label", { for: `${id}-file` }, "Upload a picture"),
    h("input", { id: `${id}-file`, type: "file", accept: PICTURE_TYPES, disabled: Boolean(busy), onChange: choose }),
    h("span", { class: "hint", role: "status" }, busy),
    wrong && h("span", { class: "wrong", role: "alert" }, wrong),
  );
}
