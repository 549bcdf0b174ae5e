// @ts-check
// Editing a thing that others may edit too: only what was changed is sent, with the revision that was seen.
// When somebody else was faster, both versions are shown.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { plural } from "../shared/format.js";
import { announcement } from "../shared/navigation.js";
import { changeOnce, keep, stored, useKept } from "./data.js";
import { Fields, refusedBeside, sentence } from "./form.js";
import { fieldsOf, labelOf } from "./schema.js";
import { draftOf, linesOf, onlyInput, same, valueOf } from "./values.js";
import { explain } from "./viewer.js";

/** @typedef {import("./values.js").Refusal} Refusal */
/** @typedef {Record<string, any>} Values */
/** @typedef {{ values: Values, revision: number }} Version */
/** What became of a change: what is saved of it, what was refused, and what the service has now.
 * @typedef {{ saved: Version | null, refusals: Refusal[], current: Version | null }} Outcome */
/** @typedef {{ key: string, seen: Version, toDraft: (values: Values) => any, toValues: (draft: any, refusals: Refusal[]) => Values, save: (changes: Values, revision: number, values: Values) => Promise<Outcome>, onSaved?: (version: Version) => void }} Options */

/** The fields in which two versions differ.
 * @param {Values} one
 * @param {Values} other */
const differing = (one, other) => [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => !same(one[name], other[name]));

/** @param {Options} options */
export function useEdit({ key, seen, toDraft, toValues, save, onSaved }) {
  const storage = `vitrine.edit.${key}`;
  const begin = () => {
    const kept = stored(storage, null, sessionStorage);
    return kept ? { ...kept, restored: true } : { base: seen.values, revision: seen.revision, draft: toDraft(seen.values), restored: false };
  };
  const [state, setState] = useState(begin);
  const [refusals, setRefusals] = useState(/** @type {Refusal[]} */ ([]));
  const [conflict, setConflict] = useState(/** @type {Version | null} */ (null));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const values = toValues(state.draft, []);
  const changes = differing(values, state.base);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  useEffect(() => {
    if (refusals.length) /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector("[aria-invalid=true]"))?.focus();
  }, [refusals]);
  // Something newer was loaded, and nothing is lost by showing it.
  useEffect(() => {
    if (seen.revision > state.revision && changes.length === 0) adopt(seen);
  }, [seen.revision]);

  const latest = useRef(state);
  const set = (/** @type {any} */ next) => {
    latest.current = next;
    setState(next);
    const changed = differing(toValues(next.draft, []), next.base).length > 0;
    keep(storage, changed ? { base: next.base, revision: next.revision, draft: next.draft } : null, sessionStorage);
  };
  const adopt = (/** @type {Version} */ version) => {
    set({ base: version.values, revision: version.revision, draft: toDraft(version.values), restored: false });
    setRefusals([]);
    setConflict(null);
    setWrong("");
  };
  const finish = (/** @type {any} */ from, /** @type {Outcome} */ { saved, refusals: refused, current }) => {
    // Somebody may have typed while the change was under way.
    const typed = latest.current.draft !== from.draft;
    if (!refused.length && saved) {
      if (typed) set({ ...latest.current, base: saved.values, revision: saved.revision });
      else adopt(saved);
      announcement.value = "Saved";
      onSaved?.(saved);
      return;
    }
    // A part may be saved already: it is no change any more.
    if (saved) set({ ...latest.current, base: saved.values, revision: saved.revision });
    setRefusals(refused);
    if (current && refused.some((one) => one.code === "REVISION_CONFLICT")) setConflict(current);
  };
  const submit = async (/** @type {any} */ from = state) => {
    /** @type {Refusal[]} */
    const invalid = [];
    const wanted = toValues(from.draft, invalid);
    setWrong("");
    setRefusals(invalid);
    const names = differing(wanted, from.base);
    if (invalid.length || busy || !names.length) return;
    setBusy(true);
    try {
      const changed = Object.fromEntries(names.map((name) => [name, wanted[name] ?? null]));
      finish(from, await save(changed, from.revision, wanted));
    } catch (error) {
      setWrong(explain(/** @type {Error} */ (error)));
    }
    setBusy(false);
  };
  const resolve = (/** @type {Set<string>} */ mine) => {
    if (!conflict) return;
    const merged = { ...conflict.values };
    for (const name of mine) merged[name] = values[name];
    const next = { base: conflict.values, revision: conflict.revision, draft: toDraft(merged), restored: false };
    setConflict(null);
    set(next);
    submit(next);
  };
  return {
    form,
    draft: state.draft,
    base: state.base,
    revision: state.revision,
    values,
    changes,
    refusals,
    conflict,
    wrong,
    busy,
    restored: state.restored && changes.length > 0,
    change: (/** @type {any} */ draft) => set({ ...state, draft }),
    submit: (/** @type {Event} */ event) => {
      event.preventDefault();
      submit();
    },
    discard: () => adopt(seen.revision >= state.revision ? seen : { values: state.base, revision: state.revision }),
    takeTheirs: () => conflict && adopt(conflict),
    resolve,
    back: () => setConflict(null),
  };
}

/** @typedef {ReturnType<typeof useEdit>} Edit */

/** What is about to be saved, and the way to do it.
 * @param {{ edit: Edit, label?: (name: string) => string }} props */
export function SaveBar({ edit, label = labelOf }) {
  const { changes, busy, wrong, restored, discard } = edit;
  if (!changes.length) return null;
  const names = changes.map(label).join(", ");
  return h(
    "div",
    { class: "save-bar", role: "region", "aria-label": "Changes" },
    restored && h("p", { role: "status" }, "These changes were not saved when you left."),
    wrong && h("p", { role: "alert", class: "wrong" }, wrong, " Nothing is lost: try again."),
    h(
      "div",
      { class: "save-line" },
      h("p", { class: "changes" }, h("b", null, plural(changes.length, "change")), ": ", names),
      h("button", { type: "button", class: "button quiet", disabled: busy, onClick: discard }, "Discard"),
      h("button", { type: "submit", class: "button", disabled: busy }, busy ? "Saving …" : "Save"),
    ),
  );
}

/** Two versions of a thing side by side: what I have changed, what somebody else has changed.
 * @param {{ edit: Edit, what: string, label?: (name: string) => string }} props */
export function Conflict({ edit, what, label = labelOf }) {
  const { base, values, conflict } = edit;
  const [chosen, setChosen] = useState(/** @type {Record<string, string>} */ ({}));
  const [missing, setMissing] = useState("");
  const heading = useRef(/** @type {HTMLHeadingElement | null} */ (null));
  useEffect(() => heading.current?.focus(), []);
  if (!conflict) return null;
  const mine = differing(values, base);
  const theirs = differing(conflict.values, base);
  const all = [...new Set([...mine, ...theirs])];
  const both = all.filter((name) => mine.includes(name) && theirs.includes(name) && !same(values[name], conflict.values[name]));
  const save = () => {
    const open = both.find((name) => !chosen[name]);
    if (open) {
      setMissing(open);
      document.getElementById(`conflict-${both.indexOf(open)}-mine`)?.focus();
      return;
    }
    edit.resolve(new Set(mine.filter((name) => !both.includes(name) || chosen[name] === "mine")));
  };
  return h(
    "section",
    { class: "box conflict", "aria-labelledby": "conflict-title" },
    h("h2", { id: "conflict-title", tabIndex: -1, ref: heading }, `Somebody else has changed this ${what}`),
    h("p", null, `You began with revision ${edit.revision}; the service has revision ${conflict.revision} now. Your changes are not saved yet. Where both have changed something, choose.`),
    h(
      "div",
      { class: "wide", tabIndex: 0, role: "region", "aria-label": "Versions" },
      h(
        "table",
        { class: "grid versions" },
        h("thead", null, h("tr", null, ["Field", "Before", "Mine", "Theirs", "What is kept"].map((text) => h("th", { scope: "col", key: text }, text)))),
        h(
          "tbody",
          null,
          all.map((name) =>
            h(
              "tr",
              { key: name, class: both.includes(name) ? "both" : "" },
              h("th", { scope: "row" }, label(name)),
              h("td", null, h(Lines, { value: base[name] })),
              h("td", { class: mine.includes(name) ? "changed" : "" }, h(Lines, { value: values[name] })),
              h("td", { class: theirs.includes(name) ? "changed" : "" }, h(Lines, { value: conflict.values[name] })),
              h(
                "td",
                null,
                both.includes(name)
                  ? h(Choice, { name, index: both.indexOf(name), label: label(name), value: chosen[name], missing: missing === name && !chosen[name], onChange: (/** @type {string} */ side) => setChosen({ ...chosen, [name]: side }) })
                  : mine.includes(name)
                    ? "mine"
                    : "theirs",
              ),
            ),
          ),
        ),
      ),
    ),
    h(
      "p",
      { class: "buttons" },
      h("button", { type: "button", class: "button", onClick: save }, "Save with these choices"),
      h("button", { type: "button", class: "button quiet", onClick: edit.takeTheirs }, "Drop my changes"),
      h("button", { type: "button", class: "button quiet", onClick: edit.back }, "Back to the form"),
    ),
  );
}

/** @param {{ value: any }} props */
export function Lines({ value }) {
  return h("span", { class: "lines iso" }, linesOf(value).map((line, at) => h("span", { key: at }, line)));
}

/** @param {{ name: string, index: number, label: string, value: string | undefined, missing: boolean, onChange: (side: string) => void }} props */
function Choice({ name, index, label, value, missing, onChange }) {
  return h(
    "fieldset",
    { class: "sides" },
    h("legend", { class: "hidden" }, `Which ${label} is kept`),
    ["mine", "theirs"].map((side) =>
      h("label", { key: side, class: "check" }, h("input", { type: "radio", id: `conflict-${index}-${side}`, name: `conflict-${name}`, checked: value === side, onChange: () => onChange(side) }), side),
    ),
    missing && h("span", { class: "wrong", role: "alert" }, "Choose one."),
  );
}

/** What is refused about the whole, or about no field of the form.
 * @param {{ refusals: Refusal[], shown: string[] }} props */
export function Refusals({ refusals, shown }) {
  return refusedBeside(refusals, shown).map((one) => h("p", { key: one.message, role: "alert", class: "wrong" }, one.path.length ? `${one.path.join(".")}: ${one.message}` : sentence(one.message)));
}

/** The form of a thing that one mutation changes.
 * @param {{
 *   types: import("./schema.js").Types, type: string, without: string[], what: string, id: Record<string, string>,
 *   thing: any, read: (thing: any) => any, operation: string, field: string, onSaved: (thing: any) => void,
 * }} props */
export function ThingForm({ types, type, without, what, id, thing, read, operation, field, onSaved }) {
  const hidden = [...without, ...Object.keys(id), "expectedRevision", "idempotencyKey"];
  const shape = { required: true, list: false, name: type, kind: "INPUT_OBJECT" };
  const pick = (/** @type {Values} */ all) => Object.fromEntries(Object.entries(all).filter(([name]) => !hidden.includes(name)));
  const versionOf = (/** @type {any} */ one) => ({ values: pick(onlyInput(types, type, read(one))), revision: one.revision });
  const edit = useEdit({
    key: `${what}.${Object.values(id)[0]}`,
    seen: versionOf(thing),
    toDraft: (values) => draftOf(types, shape, values),
    toValues: (draft, refusals) => {
      /** @type {Refusal[]} */
      const found = [];
      const values = pick(valueOf(types, shape, draft, { path: [], refusals: found }));
      refusals.push(...found.filter((one) => !hidden.includes(one.path[0])));
      return values;
    },
    save: async (changes, expectedRevision) => {
      const payload = await changeOnce(operation, { ...id, ...changes, expectedRevision });
      const version = payload[field] && versionOf(payload[field]);
      if (!payload.userErrors.length) onSaved(payload[field]);
      return { saved: payload.userErrors.length ? null : version, refusals: payload.userErrors, current: version };
    },
  });
  const shown = fieldsOf(types, type, hidden).map((one) => one.name);
  if (edit.conflict) return h(Conflict, { edit, what });
  return h(
    "form",
    { class: "form", ref: edit.form, noValidate: true, onSubmit: edit.submit },
    h(Refusals, { refusals: edit.refusals, shown }),
    h(Fields, { types, type, draft: edit.draft, onChange: edit.change, refusals: edit.refusals, without: hidden, id: what }),
    h(SaveBar, { edit }),
  );
}

/** The form that makes a new thing.
 * @param {{ types: import("./schema.js").Types, type: string, what: string, operation: string, field: string, start?: Values, onMade: (thing: any) => void }} props */
export function NewThing({ types, type, what, operation, field, start = {}, onMade }) {
  const shape = { required: true, list: false, name: type, kind: "INPUT_OBJECT" };
  const fresh = () => ({ ...draftOf(types, shape, null), ...start });
  const [draft, setDraft] = useKept(`vitrine.new.${what}`, fresh);
  const [refusals, setRefusals] = useState(/** @type {Refusal[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  useEffect(() => {
    if (refusals.length) /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector("[aria-invalid=true]"))?.focus();
  }, [refusals]);
  const make = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy) return;
    /** @type {Refusal[]} */
    const invalid = [];
    const all = valueOf(types, shape, draft, { path: [], refusals: invalid });
    const input = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && !(Array.isArray(value) && !value.length)));
    setWrong("");
    setRefusals(invalid);
    if (invalid.length) return;
    setBusy(true);
    try {
      const payload = await changeOnce(operation, input);
      setRefusals(payload.userErrors);
      if (!payload.userErrors.length) {
        setDraft(null);
        announcement.value = `The ${what} is made`;
        onMade(payload[field]);
      }
    } catch (error) {
      setWrong(explain(/** @type {Error} */ (error)));
    }
    setBusy(false);
  };
  const without = ["idempotencyKey"];
  return h(
    "form",
    { class: "form", ref: form, noValidate: true, onSubmit: make },
    h(Refusals, { refusals, shown: fieldsOf(types, type, without).map((one) => one.name) }),
    h(Fields, { types, type, draft, onChange: setDraft, refusals, without, id: `new-${what.replace(/ /g, "-")}` }),
    wrong && h("p", { role: "alert", class: "wrong" }, wrong),
    h("p", { class: "buttons" }, h("button", { type: "submit", class: "button", disabled: busy }, busy ? "Making …" : `Make the ${what}`)),
  );
}
