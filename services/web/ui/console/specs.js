// @ts-check
// The spec dictionary: which keys there are, how complete they are, which may mean the same.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useMemo, useState } from "../vendor/preact/hooks.js";
import { count, plural } from "../shared/format.js";
import { announcement, navigate, place } from "../shared/navigation.js";
import { fetchPages, keep, stored } from "./data.js";
import { NewThing } from "./edit.js";
import { nameOf } from "./form.js";
import { dictionary } from "./lists.js";
import { Loading, Opened, Table } from "./parts.js";
import { useTypes } from "./schema.js";
import { pairs } from "./similar.js";

/** How many pairs are shown. */
const PAIRS = 50;
/** Where the pairs are kept that somebody has said to be different. */
const DIFFERENT = "vitrine.keys.different";

/** @param {string} key */
export const keyPath = (key) => `/console/specs/${encodeURIComponent(key)}`;

/** @param {string} from
 * @param {string} into */
const mergePath = (from, into) => `${keyPath(from)}?into=${encodeURIComponent(into)}`;

export function SpecKeys() {
  const { types } = useTypes();
  const [rows, setRows] = useState(/** @type {any[] | null} */ (null));
  const [complete, setComplete] = useState(false);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const load = () => {
    setError(null);
    setComplete(false);
    fetchPages("SpecKeys", "specKeys", (some) => setRows([...some])).then(
      (all) => {
        setRows(all);
        setComplete(true);
      },
      setError,
    );
  };
  useEffect(load, []);
  if (!rows || !types) return h(Loading, { error, reload: load });
  const made = () => {
    dictionary.refresh();
    load();
  };
  return h(
    "div",
    { class: "page" },
    h("div", { class: "heading" }, h("h1", null, "Spec dictionary"), h("p", { class: "total", "aria-live": "polite" }, complete ? plural(rows.length, "key") : `${count(rows.length)} keys so far …`)),
    h(Alike, { rows, complete }),
    h(Opened, { label: "Define a key …" }, h(NewThing, { types, type: "DefineSpecKeyInput", what: "key", operation: "DefineSpecKey", field: "specKey", onMade: made })),
    h(Keys, { rows }),
  );
}

/** @param {{ rows: any[], complete: boolean }} props */
function Alike({ rows, complete }) {
  const all = useMemo(() => (complete ? pairs(rows) : []), [rows, complete]);
  const [different, setDifferent] = useState(/** @type {string[]} */ (stored(DIFFERENT, [])));
  const named = (/** @type {any} */ one, /** @type {any} */ other) => [one.key, other.key].sort().join(" ");
  const found = all.filter(([one, other]) => !different.includes(named(one, other)));
  const dismiss = (/** @type {any} */ one, /** @type {any} */ other) => {
    const next = [...different, named(one, other)];
    setDifferent(next);
    keep(DIFFERENT, next);
    announcement.value = `${one.key} and ${other.key} are no longer proposed`;
  };
  if (!complete) return null;
  if (!found.length) return h("p", { class: "hint" }, "No two keys look as if they meant the same.");
  const products = (/** @type {any} */ key) => key.coverage?.products ?? 0;
  // The key that fewer products have is merged into the other.
  const ordered = found.map(([one, other]) => (products(one) <= products(other) ? [one, other] : [other, one]));
  return h(
    "section",
    { class: "box", "aria-labelledby": "alike" },
    h("h2", { id: "alike" }, `${plural(found.length, "pair")} of keys may mean the same`),
    h(
      "ul",
      { class: "notes" },
      ordered.slice(0, PAIRS).map(([from, into]) =>
        h(
          "li",
          { key: `${from.key} ${into.key}` },
          h("a", { href: keyPath(from.key) }, from.key),
          ` (${plural(products(from), "product")}) and `,
          h("a", { href: keyPath(into.key) }, into.key),
          ` (${plural(products(into), "product")}). `,
          h("a", { href: mergePath(from.key, into.key) }, `Merge ${from.key} into ${into.key} …`),
          " ",
          h("button", { type: "button", class: "link", onClick: () => dismiss(from, into) }, "They are different", h("span", { class: "hidden" }, `: ${from.key} and ${into.key}`)),
        ),
      ),
    ),
    found.length > PAIRS && h("p", { class: "hint" }, `These are the first ${PAIRS}.`),
  );
}

/** @param {{ rows: any[] }} props */
function Keys({ rows }) {
  const { query } = place.value;
  const wanted = query.get("q") ?? "";
  const use = query.get("use") ?? "";
  const change = (/** @type {string} */ name, /** @type {string} */ value) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    navigate(`/console/specs${next.size ? `?${next}` : ""}`, { stay: true, replace: true });
  };
  const fold = (/** @type {string} */ text) => text.toLowerCase();
  const shown = rows.filter((row) => {
    const named = [row.key, row.label, ...row.aliases].some((name) => fold(name).includes(fold(wanted)));
    const products = row.coverage?.products ?? 0;
    return named && (use === "" || (use === "none" ? products === 0 : products > 0 && products <= 2));
  });
  useEffect(() => {
    if (wanted || use) announcement.value = plural(shown.length, "key");
  }, [wanted, use]);
  return h(
    "section",
    { "aria-label": "Keys" },
    h(
      "div",
      { class: "tools" },
      h("label", { for: "key-search" }, "Name"),
      h("input", { id: "key-search", type: "search", value: wanted, onInput: (/** @type {any} */ event) => change("q", event.currentTarget.value) }),
      h("label", { for: "key-use" }, "Used by"),
      h("select", { id: "key-use", value: use, onChange: (/** @type {any} */ event) => change("use", event.currentTarget.value) }, [["", "any number of products"], ["none", "no product on sale"], ["few", "one or two products"]].map(([value, label]) => h("option", { key: value, value }, label))),
    ),
    h(
      Table,
      { label: "Spec keys", head: ["Key", "Label", "Holds", "Products", "Values", "Most common", "Aliases", "Offered"] },
      shown.map((row) =>
        h(
          "tr",
          { key: row.key },
          h("th", { scope: "row" }, h("a", { href: keyPath(row.key) }, row.key)),
          h("td", { class: "iso" }, row.label),
          h("td", null, holds(row)),
          h("td", { class: "number" }, row.coverage ? count(row.coverage.products) : "none"),
          h("td", { class: "number" }, row.coverage ? count(row.coverage.distinctValues) : "–"),
          h("td", { class: "iso samples" }, row.coverage?.sampleValues.join(", ") ?? "–"),
          h("td", { class: "iso" }, row.aliases.join(", ") || "–"),
          h("td", null, [row.facetable && "facets", row.filterable && "filters"].filter(Boolean).join(", ") || "no"),
        ),
      ),
    ),
  );
}

/** @param {any} key */
export const holds = (key) => nameOf(key.type) + (key.dimension ? ` (${key.dimension}, in ${key.baseUnit})` : key.allowedValues ? ` (${plural(key.allowedValues.length, "allowed value")})` : "");
