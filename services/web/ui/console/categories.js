// @ts-check
// The tree of categories, and what products of a category are rated by.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { count, plural } from "../shared/format.js";
import { announcement, navigate, place } from "../shared/navigation.js";
import { changeOnce, useAsked } from "./data.js";
import { NewThing, ThingForm } from "./edit.js";
import { Wrong } from "./form.js";
import { History } from "./history.js";
import { categories } from "./lists.js";
import { Failure, Loading, Opened } from "./parts.js";
import { CategoryField } from "./pickers.js";
import { useTypes } from "./schema.js";
import { explain } from "./viewer.js";

/** @param {string} slug */
const categoryPath = (slug) => `/console/categories?c=${encodeURIComponent(slug)}`;

export function Categories() {
  const { types, error } = useTypes();
  const all = categories.use();
  const chosen = place.value.query.get("c");
  const [wanted, setWanted] = useState("");
  if (!types) return h(Loading, { error });
  const made = (/** @type {any} */ category) => {
    categories.refresh();
    navigate(categoryPath(category.slug), { stay: true });
  };
  const shown = all.filter((one) => one.path.join(" ").toLowerCase().includes(wanted.toLowerCase()));
  return h(
    "div",
    { class: "page" },
    h("div", { class: "heading" }, h("h1", null, "Categories"), h("p", { class: "total" }, plural(all.length, "category").replace(/ys$/, "ies"))),
    h(Opened, { label: "New category …" }, h(NewThing, { types, type: "CreateCategoryInput", what: "category", operation: "CreateCategory", field: "category", onMade: made })),
    h(
      "div",
      { class: "editor tree-page" },
      h(
        "nav",
        { "aria-label": "Categories" },
        h("div", { class: "tools" }, h("label", { for: "category-search" }, "Name"), h("input", { id: "category-search", type: "search", value: wanted, onInput: (/** @type {any} */ event) => setWanted(event.currentTarget.value) })),
        h("ul", { class: "tree" }, shown.map((one) => h("li", { key: one.slug, class: `depth${one.depth}` }, h("a", { href: categoryPath(one.slug), "aria-current": one.slug === chosen ? "true" : undefined, class: "iso" }, one.name)))),
      ),
      chosen ? h(Category, { key: chosen, slug: chosen, types }) : h("p", { class: "hint" }, "Choose a category to change it."),
    ),
  );
}

/** @param {{ slug: string, types: import("./schema.js").Types }} props */
function Category({ slug, types }) {
  const { data, error, reload } = useAsked("OneCategory", { slug, filter: { category: [slug] } });
  const category = data?.category;
  if (!data) return h(Loading, { error, reload });
  if (!category) return h("p", null, "There is no such category.");
  const saved = (/** @type {any} */ next) => {
    categories.refresh();
    if (next.slug === slug) reload();
    else navigate(categoryPath(next.slug), { stay: true, replace: true });
  };
  const example = data.products?.nodes[0];
  return h(
    "section",
    { "aria-label": category.name },
    h("h2", { class: "iso" }, category.path.join(" › ")),
    h("p", null, h("a", { href: `/console/products?category=${encodeURIComponent(slug)}` }, plural(category.productCount ?? 0, "product")), " on sale. ", h("span", { class: "hint" }, `Revision ${category.revision}`)),
    category.children.length > 0 && h("ul", { class: "chips" }, category.children.map((/** @type {any} */ one) => h("li", { key: one.slug }, h("a", { class: "chip plain", href: categoryPath(one.slug) }, h("span", { class: "iso" }, one.name), one.productCount != null && h("span", { class: "hint" }, ` ${count(one.productCount)}`))))),
    h(Failure, { error, reload }),
    h(ThingForm, { types, type: "UpdateCategoryInput", without: [], what: "category", id: { id: category.id }, thing: category, read: (one) => ({ ...one, parent: one.parent?.slug ?? null }), operation: "UpdateCategory", field: "category", onSaved: saved }),
    h(Dimensions, { slug, example }),
    h(Merge, { from: category, onMerged: saved }),
    h(History, { key: category.revision, id: category.id, revision: category.revision, operation: "RevertCategory", input: { id: category.id }, reload: (next) => (next ? saved(next) : reload()), field: "category" }),
  );
}

/** Merges this category into another, after what that means has been shown.
 * @param {{ from: any, onMerged: (into: any) => void }} props */
function Merge({ from, onMerged }) {
  const [slug, setSlug] = useState("");
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [busy, setBusy] = useState(false);
  const into = categories.use().find((one) => one.slug === slug.trim() && one.slug !== from.slug);
  const merge = async () => {
    if (!into) return;
    setBusy(true);
    try {
      const payload = await changeOnce("MergeCategories", { from: from.id, into: into.id });
      setRefusals(payload.userErrors);
      if (!payload.userErrors.length) {
        announcement.value = `Merged into ${payload.category.name}`;
        onMerged(payload.category);
      }
    } catch (error) {
      setRefusals([{ path: [], message: explain(/** @type {Error} */ (error)) }]);
    }
    setBusy(false);
  };
  return h(
    "section",
    { class: "box stack", "aria-labelledby": "merge" },
    h("h3", { id: "merge" }, "Merge into another category"),
    h("div", { class: "field" }, h("label", { for: "merge-into" }, "The category that remains"), h(CategoryField, { id: "merge-into", value: slug, onChange: setSlug, invalid: refusals.length > 0, describedBy: "merge-wrong", required: false }), h(Wrong, { id: "merge-wrong", refusals })),
    into && h("p", { class: "iso" }, `${plural(from.productCount ?? 0, "product")} on sale, drafts and archived ones, and ${plural(from.children.length, "subcategory").replace(/ys$/, "ies")} will be in ${into.name} at once. Addresses and feeds of ${from.name} lead there. This cannot be undone.`),
    into && h("p", null, h("button", { type: "button", class: "button", disabled: busy, onClick: merge }, h("span", { class: "iso" }, `Merge ${from.name} into ${into.name}`))),
  );
}

/** The aspects that products of a category are rated by.
 * @param {{ slug: string, example: any }} props */
function Dimensions({ slug, example }) {
  const [text, setText] = useState("");
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [busy, setBusy] = useState(false);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    const names = text.split("\n").map((/** @type {string} */ name) => name.trim()).filter(Boolean);
    try {
      const payload = await changeOnce("DefineReviewDimensions", { category: slug, names });
      setRefusals(payload.userErrors);
      if (!payload.userErrors.length) announcement.value = "Saved";
    } catch (error) {
      setRefusals([{ path: [], message: explain(/** @type {Error} */ (error)) }]);
    }
    setBusy(false);
  };
  return h(
    "form",
    { class: "box stack", noValidate: true, onSubmit: submit },
    h("h3", null, "Aspects that are rated"),
    h("p", { class: "hint iso" }, `What is set here replaces what was set here before, and is added to what kinds and categories above have.${example ? ` “${example.name}” is rated by: ${example.reviewDimensions.join(", ") || "the whole only"}.` : ""}`),
    h("div", { class: "field" }, h("label", { for: "dimensions" }, "Names, one in each line"), h("textarea", { id: "dimensions", rows: 4, value: text, "aria-invalid": refusals.length ? "true" : undefined, "aria-describedby": "dimensions-wrong", onInput: (/** @type {any} */ event) => setText(event.currentTarget.value) }), h(Wrong, { id: "dimensions-wrong", refusals })),
    h("p", null, h("button", { type: "submit", class: "button quiet", disabled: busy }, "Set for this category")),
  );
}
