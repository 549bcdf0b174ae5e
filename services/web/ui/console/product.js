// @ts-check
// The editor of a product of any kind: its fields are those of the API's inputs.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { average, plural } from "../shared/format.js";
import { first } from "../shared/graphql.js";
import { navigate } from "../shared/navigation.js";
import { Activity } from "./activity.js";
import { changeOnce, fetchAll, useAsked, useKept } from "./data.js";
import { Conflict, Refusals, SaveBar, useEdit } from "./edit.js";
import { Fields, nameOf } from "./form.js";
import { History } from "./history.js";
import { Failure, Loading, Time } from "./parts.js";
import { Specs, isSpec, rowAt, rowOf, specLabel, specOf, specValues, valuesOfRows } from "./product-specs.js";
import { fieldsOf, labelOf, shapeOf, useTypes } from "./schema.js";
import { draftOf, onlyInput, valueOf } from "./values.js";

/** @typedef {import("./schema.js").Types} Types */
/** @typedef {import("./values.js").Refusal} Refusal */

const INPUT = "UpdateProductInput";
/** What the form does not show as fields of the input. */
const WITHOUT = ["id", "details", "expectedRevision", "idempotencyKey"];
const SHAPE = { required: true, list: false, name: INPUT, kind: "INPUT_OBJECT" };

/** The field of the details that products of a kind have; null for kinds without details.
 * @param {Types} types
 * @param {string} kind */
export const detailsOf = (types, kind) => fieldsOf(types, "ProductDetailsInput").find((field) => field.name === kind) ?? null;

/** What the service has of a product, by the fields of the input.
 * @param {Types} types
 * @param {any} product
 * @returns {import("./edit.js").Version} */
function versionOf(types, product) {
  const read = { ...product, category: product.category.slug, supplierId: product.supplier?.supplierId ?? null };
  const own = Object.fromEntries(Object.entries(onlyInput(types, INPUT, read)).filter(([name]) => !WITHOUT.includes(name)));
  // The price of a bundle is the sum of its items.
  if (product.kind === "bundle") delete own.price;
  const details = detailsOf(types, product.kind);
  if (details) {
    const items = product.items?.map((/** @type {any} */ one) => ({ productId: one.product?.id ?? "", quantity: one.quantity }));
    own.details = onlyInput(types, shapeOf(details.type).name, { ...product, items });
  }
  return { values: { ...own, ...specValues(product.specs) }, revision: product.revision };
}

/** @param {Types} types
 * @param {string} kind */
function codec(types, kind) {
  const details = detailsOf(types, kind);
  const without = kind === "bundle" ? [...WITHOUT, "price"] : WITHOUT;
  const shape = details && { ...shapeOf(details.type), required: true };
  return {
    without,
    toDraft: (/** @type {any} */ values) => ({
      own: draftOf(types, SHAPE, values),
      details: shape && draftOf(types, shape, values.details),
      rows: Object.keys(values).filter(isSpec).map((name) => rowOf(values[name])),
    }),
    toValues: (/** @type {any} */ draft, /** @type {Refusal[]} */ refusals) => {
      /** @type {Refusal[]} */
      const found = [];
      const all = valueOf(types, SHAPE, draft.own, { path: [], refusals: found });
      refusals.push(...found.filter((one) => !without.includes(one.path[0])));
      const own = Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)));
      if (shape) own.details = valueOf(types, shape, draft.details, { path: ["details", kind], refusals });
      return { ...own, ...valuesOfRows(draft.rows, refusals) };
    },
  };
}

/** Saves what has changed: fields, then specs that are set, then specs that are gone. Each step begins with
 * the revision of the last one.
 * @param {Types} types
 * @param {any} product
 * @param {Record<string, any>} changes
 * @param {number} revision
 * @returns {Promise<import("./edit.js").Outcome>} */
async function save(types, product, changes, revision) {
  const names = Object.keys(changes);
  const fields = names.filter((name) => !isSpec(name));
  const set = names.filter((name) => isSpec(name) && changes[name]);
  const gone = names.filter((name) => isSpec(name) && !changes[name]);
  /** @type {[string, any][]} */
  const steps = [];
  if (fields.length) {
    const own = Object.fromEntries(fields.map((name) => [name, name === "details" ? { [product.kind]: changes.details } : changes[name]]));
    steps.push(["UpdateProduct", { id: product.id, ...own }]);
  }
  if (set.length) steps.push(["SetSpecs", { productId: product.id, specs: set.flatMap((name) => changes[name]) }]);
  if (gone.length) steps.push(["RemoveSpecs", { productId: product.id, specs: gone.map(specOf) }]);
  /** @type {import("./edit.js").Version | null} */
  let saved = null;
  for (const [operation, input] of steps) {
    const payload = await changeOnce(operation, { ...input, expectedRevision: saved?.revision ?? revision });
    const version = payload.product && versionOf(types, payload.product);
    if (payload.userErrors.length) return { saved, refusals: payload.userErrors.map((/** @type {any} */ one) => placed(one, operation, operation === "SetSpecs" ? set.flatMap((name) => changes[name].map(() => name)) : gone)), current: version };
    saved = version;
  }
  return { saved, refusals: [], current: saved };
}

/** Says of a refused spec which it is, instead of where it stood in the list that was sent.
 * @param {Refusal} refusal
 * @param {string} operation
 * @param {string[]} sent */
function placed(refusal, operation, sent) {
  if (operation === "UpdateProduct" || refusal.path[0] !== "specs") return refusal;
  return { ...refusal, path: ["specs", sent[Number(refusal.path[1])] ?? "", ...refusal.path.slice(2)] };
}

/** @param {{ id: string }} props */
export function Product({ id }) {
  const { types, error: untyped } = useTypes();
  const { data, error, reload } = useAsked("EditProduct", { id });
  const product = data?.product;
  useEffect(() => {
    if (product) document.title = `${product.name} – Vitrine console`;
  }, [product]);
  if (!data || !types) return h(Loading, { error: error ?? untyped, reload });
  if (!product) return h("div", { class: "page narrow" }, h("h1", null, "There is no such product"));
  return h(
    "div",
    { class: "page" },
    h("p", { class: "trail" }, h("a", { href: "/console/products" }, "Products")),
    h(
      "div",
      { class: "heading" },
      h("h1", { class: "iso" }, product.name),
      h("p", { class: "total" }, `${nameOf(product.kind)}, ${product.status.toLowerCase()}, revision ${product.revision}`),
    ),
    h(Failure, { error, reload }),
    h("div", { class: "editor" }, h(Editor, { key: product.id, types, product, reload }), h("aside", { class: "beside", "aria-label": "About this product" }, h(Visibility, { key: product.revision, product, reload }), h(Facts, { product }))),
    h(Activity, { id }),
    h(History, { key: product.revision, id: product.id, revision: product.revision, operation: "RevertProduct", input: { id: product.id }, reload, field: "product" }),
  );
}

/** A field that people have edited: no feed changes it until it is given back. Nothing of a product without feeds.
 * @param {{ product: any, own: any, reload: () => void }} props */
function Kept({ product, own, reload }) {
  const [wrong, setWrong] = useState("");
  const release = async () => {
    const payload = await changeOnce("ReleaseFields", { productId: product.id, fields: [own.field], expectedRevision: product.revision }).catch((failed) => ({ userErrors: [failed] }));
    setWrong(payload.userErrors[0]?.message ?? "");
    if (!payload.userErrors.length) reload();
  };
  return h(
    "p",
    { class: "hint" },
    h("span", { class: "iso" }, `${own.field}: edited by ${own.by}, `),
    h(Time, { at: own.at }),
    h("span", { class: "iso" }, own.feedValue === null ? ". Feeds say nothing of it. " : `. Feeds say: ${own.feedValue} `),
    h("button", { type: "button", class: "link", onClick: release }, `Give ${own.field} back to the feeds`),
    wrong && h("span", { class: "wrong", role: "alert" }, ` ${wrong}`),
  );
}

/** What feeds do not change of a product, by the fields of the input. */
const OWNED = /** @type {Record<string, string>} */ ({ supplierId: "supplier" });

/** @param {{ types: Types, product: any, reload: () => void }} props */
function Editor({ types, product, reload }) {
  const { without, toDraft, toValues } = codec(types, product.kind);
  const edit = useEdit({
    key: `product.${product.id}`,
    seen: versionOf(types, product),
    toDraft,
    toValues,
    save: (changes, revision) => save(types, product, changes, revision),
    onSaved: reload,
  });
  const label = (/** @type {string} */ name) => (isSpec(name) ? `Spec ${specLabel(name)}` : labelOf(name));
  if (edit.conflict) return h(Conflict, { edit, what: "product", label });
  const { draft, change } = edit;
  const refusals = edit.refusals.map((one) => {
    // A refused spec is named by its key; here it is that of a row.
    const at = one.path[0] === "specs" && isSpec(one.path[1] ?? "") ? rowAt(draft.rows, one.path[1]) : -1;
    return at < 0 ? one : { ...one, path: ["specs", String(at), ...one.path.slice(2)] };
  });
  const shown = [...fieldsOf(types, INPUT, without).map((one) => one.name), "details", "specs"];
  const details = detailsOf(types, product.kind);
  const overrides = product.feeds.length > 0 ? product.overrides : [];
  const kept = (/** @type {any} */ own) => h(Kept, { key: `kept-${own.field}`, product, own, reload });
  const beside = (/** @type {string} */ name) => overrides.filter((/** @type {any} */ own) => own.field === (OWNED[name] ?? name)).map(kept);
  const ofSpecs = overrides.filter((/** @type {any} */ own) => own.field.startsWith("specs."));
  return h(
    "form",
    { class: "form", ref: edit.form, noValidate: true, onSubmit: edit.submit },
    h(Refusals, { refusals, shown }),
    h(Fields, { types, type: INPUT, draft: draft.own, onChange: (own) => change({ ...draft, own }), refusals, without, id: "product", beside }),
    beside("kind"),
    details &&
      h(
        "fieldset",
        { class: "group" },
        h("legend", null, `Details of the kind ${product.kind}`),
        h(Fields, { types, type: shapeOf(details.type).name, draft: draft.details, onChange: (next) => change({ ...draft, details: next }), refusals, path: ["details", product.kind], id: "product" }),
        beside("details"),
      ),
    h(Specs, { rows: draft.rows, onChange: (rows) => change({ ...draft, rows }), refusals, category: draft.own.category, kind: product.kind }),
    ofSpecs.map(kept),
    h(SaveBar, { edit, label }),
  );
}

/** Why shoppers see a product, or do not.
 * @param {{ product: any, reload: () => void }} props */
function Visibility({ product, reload }) {
  const [seen, setSeen] = useState(/** @type {boolean | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [wrong, setWrong] = useState("");
  const look = () => {
    setError(null);
    fetchAll("PublicProduct", { id: product.id }, { anonymous: true }).then((data) => setSeen(Boolean(data.product)), setError);
  };
  useEffect(look, []);
  const act = async (/** @type {string} */ operation) => {
    const payload = await changeOnce(operation, { id: product.id, expectedRevision: product.revision }).catch((failed) => ({ userErrors: [failed] }));
    setWrong(payload.userErrors[0]?.message ?? "");
    reload();
  };
  const reasons = [
    product.status === "DRAFT" && "It is a draft: only admins see it. Set the status to “Active”, and save.",
    product.status === "ARCHIVED" && "It is archived: it keeps its slug, but is on no page. Restore it to sell it again.",
    product.status === "ACTIVE" && seen === false && "It is active. Processes that had it in memory follow within two seconds.",
    !product.price && product.kind !== "bundle" && "It has no price: filters by price leave it out, and orders by price show it last.",
    !product.media.length && "It has no picture.",
    product.listedAt === null && "It was never on sale.",
  ].filter(Boolean);
  return h(
    "section",
    { "aria-labelledby": "visibility" },
    h("h2", { id: "visibility" }, "Do shoppers see it?"),
    h(Failure, { error, reload: look }),
    seen !== null && h("p", { class: "verdict" }, h("b", null, seen ? "Yes." : "No."), seen && first.storefront && [" ", h("a", { href: `/p/${encodeURIComponent(product.slug)}`, key: "a" }, "See its page")]),
    h("ul", { class: "notes" }, reasons.map((text) => h("li", { key: text }, text))),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
    h(
      "p",
      { class: "buttons" },
      product.status === "ACTIVE" && h("button", { type: "button", class: "button quiet small", onClick: () => act("ArchiveProduct") }, "Archive"),
      product.status === "ARCHIVED" && h("button", { type: "button", class: "button quiet small", onClick: () => act("RestoreProduct") }, "Restore"),
    ),
  );
}

/** @param {{ product: any }} props */
function Facts({ product }) {
  const { ratingStats: stats, outlier } = product;
  const rows = [
    ["Id", product.id],
    ["Rating", stats.count ? `${average(stats.average)} from ${plural(stats.count, "review")}` : "No reviews"],
    ["Rated by", product.reviewDimensions.length ? product.reviewDimensions.join(", ") : "the whole only"],
    ["Many reviews", outlier?.large || outlier?.hot ? `${[outlier.large && "large", outlier.hot && "hot"].filter(Boolean).join(", ")}: ${outlier.reason.map(nameOf).join(", ")}` : "no"],
    ["Made", h(Time, { at: product.createdAt })],
    ["First on sale", h(Time, { at: product.listedAt })],
    ["Changed", h(Time, { at: product.updatedAt })],
  ];
  return h(
    "section",
    { "aria-labelledby": "facts" },
    h("h2", { id: "facts" }, "Facts"),
    h("dl", { class: "plain" }, rows.map(([name, value]) => [h("dt", { key: `${name}t` }, name), h("dd", { key: `${name}d`, class: "iso" }, value)])),
  );
}

const NEW = ["name", "category", "brand", "status", "price", "supplierId", "sku", "slug", "description", "media"];

/** Makes a product. Its specs and details follow in the editor, but for what a kind cannot be without. */
export function NewProduct() {
  const { types, error } = useTypes();
  const [kind, setKind] = useState("");
  if (!types) return h(Loading, { error });
  const kinds = fieldsOf(types, "ProductDetailsInput").map((field) => field.name);
  return h(
    "div",
    { class: "page" },
    h("p", { class: "trail" }, h("a", { href: "/console/products" }, "Products")),
    h("h1", null, "New product"),
    h(
      "div",
      { class: "field kind" },
      h("label", { for: "kind" }, "Kind"),
      h("input", { id: "kind", list: "kinds", value: kind, autocomplete: "off", "aria-describedby": "kind-hint", onInput: (/** @type {any} */ event) => setKind(event.currentTarget.value) }),
      h("datalist", { id: "kinds" }, kinds.map((name) => h("option", { key: name, value: name }))),
      h("span", { class: "hint", id: "kind-hint" }, `${kinds.join(", ")} have details of their own; any other name is a kind too. It cannot be changed later.`),
    ),
    kind.trim() && h(NewForm, { key: detailsOf(types, kind) ? kind : "", types, kind: kind.trim() }),
  );
}

/** @param {{ types: Types, kind: string }} props */
function NewForm({ types, kind }) {
  const shape = { required: true, list: false, name: "CreateProductInput", kind: "INPUT_OBJECT" };
  const hidden = fieldsOf(types, "CreateProductInput").map((field) => field.name).filter((name) => !NEW.includes(name) || (kind === "bundle" && name === "price"));
  const details = detailsOf(types, kind);
  const detailsShape = details && { ...shapeOf(details.type), required: true };
  const fresh = () => ({ own: draftOf(types, shape, null), details: detailsShape && draftOf(types, detailsShape, null), rows: /** @type {any[]} */ ([]) });
  const [draft, setDraft] = useKept(`vitrine.new.product.${details ? kind : ""}`, fresh);
  const [refusals, setRefusals] = useState(/** @type {Refusal[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (refusals.length) /** @type {HTMLElement | null} */ (document.querySelector("form [aria-invalid=true]"))?.focus();
  }, [refusals]);
  const make = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy) return;
    /** @type {Refusal[]} */
    const invalid = [];
    const own = valueOf(types, shape, draft.own, { path: [], refusals: [] });
    const filled = Object.fromEntries(Object.entries(own).filter(([name, value]) => !hidden.includes(name) && value !== null && value !== ""));
    if (detailsShape) filled.details = { [kind]: valueOf(types, detailsShape, draft.details, { path: ["details", kind], refusals: invalid }) };
    const specs = valuesOfRows(draft.rows, invalid);
    for (const name of ["name", "category"]) if (!filled[name]) invalid.push({ path: [name], message: "is missing" });
    setWrong("");
    setRefusals(invalid);
    if (invalid.length) return;
    setBusy(true);
    try {
      const payload = await changeOnce("CreateProduct", { kind, ...filled, specs: Object.values(specs).flat() });
      const names = Object.keys(specs).flatMap((name) => specs[name].map(() => name));
      setRefusals(payload.userErrors.map((/** @type {any} */ one) => (one.path[0] === "specs" && names[Number(one.path[1])] ? { ...one, path: ["specs", String(rowAt(draft.rows, names[Number(one.path[1])])), ...one.path.slice(2)] } : one)));
      if (payload.product && !payload.userErrors.length) {
        setDraft(null);
        navigate(`/console/products/${encodeURIComponent(payload.product.id)}`);
      }
    } catch (error) {
      setWrong(/** @type {Error} */ (error).message);
    }
    setBusy(false);
  };
  const shown = [...NEW, "details", "specs"];
  return h(
    "form",
    { class: "form", noValidate: true, onSubmit: make },
    h(Refusals, { refusals, shown }),
    h(Fields, { types, type: "CreateProductInput", draft: draft.own, onChange: (own) => setDraft({ ...draft, own }), refusals, without: hidden, id: "product" }),
    details &&
      h("fieldset", { class: "group" }, h("legend", null, `Details of the kind ${kind}`), h(Fields, { types, type: shapeOf(details.type).name, draft: draft.details, onChange: (next) => setDraft({ ...draft, details: next }), refusals, path: ["details", kind], id: "product" })),
    h(Specs, { rows: draft.rows, onChange: (rows) => setDraft({ ...draft, rows }), refusals, category: draft.own.category, kind }),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
    h("p", { class: "buttons" }, h("button", { type: "submit", class: "button", disabled: busy }, busy ? "Making …" : "Make the product")),
  );
}
