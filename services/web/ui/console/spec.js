// @ts-check
// A key of the spec dictionary: what it is called and holds, which products have it, and merging it.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { count, percent, plural } from "../shared/format.js";
import { change } from "../shared/graphql.js";
import { announcement, navigate, place } from "../shared/navigation.js";
import { changeOnce, useAsked, useRepeated } from "./data.js";
import { ThingForm } from "./edit.js";
import { Wrong } from "./form.js";
import { History } from "./history.js";
import { dictionary } from "./lists.js";
import { Failure, Loading, Table, Time } from "./parts.js";
import { Suggested } from "./pickers.js";
import { useTypes } from "./schema.js";
import { similarTo } from "./similar.js";
import { holds, keyPath } from "./specs.js";
import { explain } from "./viewer.js";

const POLL_INTERVAL = 1_000;

/** @param {{ name: string }} props */
export function SpecKey({ name }) {
  const { types, error: untyped } = useTypes();
  const { data, error, reload } = useAsked("OneSpecKey", { key: name });
  const key = data?.specKey;
  if (!data || !types) return h(Loading, { error: error ?? untyped, reload });
  if (!key) return h("div", { class: "page narrow" }, h("h1", null, "There is no such key"), h("p", null, h("a", { href: "/console/specs" }, "To the dictionary")));
  const saved = () => {
    dictionary.refresh();
    reload();
  };
  return h(
    "div",
    { class: "page" },
    h("p", { class: "trail" }, h("a", { href: "/console/specs" }, "Spec dictionary")),
    h("div", { class: "heading" }, h("h1", null, key.key), h("p", { class: "total" }, `${holds(key)}, revision ${key.revision}`)),
    h(Failure, { error, reload }),
    h(
      "div",
      { class: "editor" },
      h(ThingForm, { key: key.key, types, type: "UpdateSpecKeyInput", without: [], what: "key", id: { key: key.key }, thing: key, read: (one) => one, operation: "UpdateSpecKey", field: "specKey", onSaved: saved }),
      h("div", { class: "beside" }, h(Covered, { coverage: key.coverage, name: key.key }), h(Merge, { key: key.key, from: key, onMerged: saved })),
    ),
    h(History, { key: key.revision, id: key.id, revision: key.revision, operation: "RevertSpecKey", input: { key: key.key }, field: "specKey", reload: saved }),
  );
}

/** @param {{ coverage: any, name: string }} props */
function Covered({ coverage, name }) {
  if (!coverage) return h("section", null, h("h2", null, "Coverage"), h("p", null, "No product on sale has this key."));
  return h(
    "section",
    { "aria-labelledby": "coverage" },
    h("h2", { id: "coverage" }, "Coverage"),
    h("p", null, h("a", { href: `/console/products?x.${encodeURIComponent(name)}=yes` }, plural(coverage.products, "product")), ` on sale, ${plural(coverage.distinctValues, "value")}.`),
    h("p", { class: "iso" }, `Most common: ${coverage.sampleValues.join(", ")}`),
    h(
      Table,
      { label: "Coverage by kind", head: ["Kind", "Have it", "Lack it", "Share"] },
      coverage.kinds.map((/** @type {any} */ one) => h("tr", { key: one.kind }, h("th", { scope: "row" }, one.kind), h("td", { class: "number" }, count(one.having)), h("td", { class: "number" }, count(one.missing)), h("td", { class: "number" }, percent(1 - one.missingShare)))),
    ),
    h("p", { class: "hint" }, "As of ", h(Time, { at: coverage.asOf }), ". ", h("a", { href: `/console/products?x.${encodeURIComponent(name)}=no` }, "Products that lack it")),
  );
}

/** Merges this key into another: what would happen first, then how far it is.
 * @param {{ from: any, onMerged: () => void }} props */
function Merge({ from, onMerged }) {
  const [into, setInto] = useState(place.value.query.get("into") ?? "");
  const all = dictionary.use();
  const near = similarTo(from.key, all).filter((one) => one.type === from.type);
  const fitting = all.filter((one) => one.key !== from.key && one.type === from.type && one.dimension === from.dimension);
  return h(
    "section",
    { class: "box", "aria-labelledby": "merge" },
    h("h2", { id: "merge" }, "Merge into another key"),
    h("p", { class: "hint" }, `${from.key} becomes an alias; both names mean the same at once, and products are rewritten in the background. This cannot be undone.`),
    near.length > 0 && h("p", null, "Alike: ", near.slice(0, 5).map((one) => h("button", { key: one.key, type: "button", class: "link", onClick: () => setInto(one.key) }, one.key))),
    h("div", { class: "field" }, h("label", { for: "into" }, "The key that remains"), h(Suggested, { id: "into", value: into, onChange: setInto, invalid: false, describedBy: "merge-wrong", required: false, options: fitting.map((one) => ({ value: one.key, label: one.label })) })),
    into.trim() && into.trim() !== from.key && h(Preview, { key: into.trim(), from, name: into.trim(), onMerged }),
  );
}

/** @param {{ from: any, name: string, onMerged: () => void }} props */
function Preview({ from, name, onMerged }) {
  const { data, error, loading, reload } = useAsked("OneSpecKey", { key: name });
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [left, setLeft] = useState(/** @type {{ now: number, all: number } | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [typed, setTyped] = useState("");
  const into = data?.specKey;
  const merge = async () => {
    setBusy(true);
    try {
      const payload = await changeOnce("MergeSpecKeys", { from: from.key, into: into.key, expectedRevision: into.revision });
      setRefusals(payload.userErrors);
      if (payload.userErrors.some((/** @type {any} */ one) => one.code === "REVISION_CONFLICT")) reload();
      if (!payload.userErrors.length) {
        setLeft({ now: payload.remaining, all: Math.max(payload.remaining, from.coverage?.products ?? 0) });
        announcement.value = "Both names mean the same now";
        dictionary.refresh();
      }
    } catch (failed) {
      setRefusals([{ path: [], message: explain(/** @type {Error} */ (failed)) }]);
    }
    setBusy(false);
  };
  // Merging what is merged does nothing, and says how many products are left.
  const look = async () => {
    const payload = await change("MergeSpecKeys", { from: from.key, into: into.key }).catch(() => null);
    if (payload?.remaining != null) setLeft((last) => last && { ...last, now: payload.remaining });
  };
  useRepeated(left && left.now > 0 ? look : null, POLL_INTERVAL);
  useEffect(() => {
    if (left && left.now === 0) announcement.value = "All products are rewritten";
  }, [left?.now]);
  if (!data) return h(Failure, { error, reload });
  if (!into) return loading ? null : h("p", { class: "wrong", role: "alert" }, `There is no key ${name}.`);
  if (left) return h(Progress, { left, from, into, onMerged });
  const clash = into.type !== from.type || into.dimension !== from.dimension;
  return h(
    "div",
    { class: "stack" },
    h(
      Table,
      { label: "Both keys", head: ["Compared", from.key, into.key] },
      [
        ["Holds", holds(from), holds(into)],
        ["Products on sale", count(from.coverage?.products ?? 0), count(into.coverage?.products ?? 0)],
        ["Most common", from.coverage?.sampleValues.join(", ") ?? "–", into.coverage?.sampleValues.join(", ") ?? "–"],
        ["Aliases", from.aliases.join(", ") || "–", into.aliases.join(", ") || "–"],
      ].map(([label, one, other]) => h("tr", { key: label }, h("th", { scope: "row" }, label), h("td", { class: "iso" }, one), h("td", { class: "iso" }, other))),
    ),
    clash
      ? h("p", { class: "wrong" }, "They hold different things, and cannot be merged.")
      : h("p", null, `${plural(from.coverage?.products ?? 0, "product")} on sale will have ${into.key} instead of ${from.key}, drafts and archived ones too. The label “${into.label}” remains.`),
    h(Wrong, { id: "merge-wrong", refusals }),
    !clash && h("div", { class: "field" }, h("label", { for: "merge-typed" }, `Type ${from.key} to confirm: this cannot be undone`), h("input", { id: "merge-typed", value: typed, autocomplete: "off", spellcheck: false, onInput: (/** @type {any} */ event) => setTyped(event.currentTarget.value) })),
    !clash && h("p", null, h("button", { type: "button", class: "button", disabled: busy || typed.trim() !== from.key, onClick: merge }, busy ? "Merging …" : `Merge ${from.key} into ${into.key}`)),
  );
}

/** @param {{ left: { now: number, all: number }, from: any, into: any, onMerged: () => void }} props */
function Progress({ left, from, into, onMerged }) {
  const done = left.all - left.now;
  const open = () => {
    onMerged();
    navigate(keyPath(into.key));
  };
  return h(
    "div",
    { class: "stack merging" },
    h("p", null, h("b", null, left.now ? `Rewriting: ${plural(left.now, "product")} left.` : "All products are rewritten."), ` ${from.key} is another name of ${into.key}.`),
    h("progress", { max: Math.max(1, left.all), value: left.all ? done : 1, "aria-label": "Products that are rewritten" }),
    h("p", null, h("button", { type: "button", class: "button quiet", onClick: open }, `To ${into.key}`)),
  );
}
