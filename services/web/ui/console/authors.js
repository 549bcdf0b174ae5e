// @ts-check
// What somebody has written: as a file for the author, or removed from everything.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { count, plural } from "../shared/format.js";
import { change } from "../shared/graphql.js";
import { announcement } from "../shared/navigation.js";
import { fetchAll } from "./data.js";
import { Wrong } from "./form.js";
import { Table } from "./parts.js";
import { explain } from "./viewer.js";

const POLICIES = [
  ["ANONYMIZE", "Keep texts and ratings, without the author"],
  ["REMOVE", "Delete the reviews"],
];
const KINDS = ["reviews", "versions", "topReviews", "votes", "replies", "reports", "purchases", "idempotencyRecords"];

/** @param {string} name */
const words = (name) => name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

export function Authors() {
  const [author, setAuthor] = useState("");
  const [policy, setPolicy] = useState("ANONYMIZE");
  const [again, setAgain] = useState("");
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [erased, setErased] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState("");
  const id = author.trim();
  const fail = (/** @type {unknown} */ error) => setRefusals([{ path: [], message: explain(/** @type {Error} */ (error)) }]);
  const save = async () => {
    setBusy("export");
    setRefusals([]);
    try {
      const lines = [];
      let after = null;
      do {
        const { exportAuthor: page } = await fetchAll("ExportAuthor", { authorId: id, after });
        lines.push(...page.lines);
        after = page.endCursor;
      } while (after);
      if (lines.length) download(lines, id);
      announcement.value = lines.length ? `${plural(lines.length, "line")} exported` : "Nothing of this author is known";
      if (!lines.length) setRefusals([{ path: [], message: "nothing of this author is known" }]);
    } catch (error) {
      fail(error);
    }
    setBusy("");
  };
  const erase = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy) return;
    if (again.trim() !== id) {
      setRefusals([{ path: ["again"], message: "write the same subject again to erase its data" }]);
      return;
    }
    setBusy("erase");
    setRefusals([]);
    try {
      const payload = await change("EraseAuthor", { authorId: id, policy });
      setRefusals(payload.userErrors);
      setErased(payload.userErrors.length ? null : payload);
      if (!payload.userErrors.length) announcement.value = "Erased";
    } catch (error) {
      fail(error);
    }
    setBusy("");
  };
  const field = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ value, /** @type {(text: string) => void} */ set) =>
    h("div", { class: "field" }, h("label", { for: name }, label), h("input", { id: name, value, autocomplete: "off", spellcheck: false, "aria-describedby": "author-wrong", onInput: (/** @type {any} */ event) => set(event.currentTarget.value) }));
  return h(
    "section",
    { "aria-labelledby": "authors" },
    h("h2", { id: "authors" }, "Data of an author"),
    h(
      "form",
      { class: "box stack", noValidate: true, onSubmit: erase },
      field("author", "Subject of the author's token", author, setAuthor),
      h("p", null, h("button", { type: "button", class: "button quiet", disabled: !id || busy !== "", onClick: save }, busy === "export" ? "Reading …" : "Export as JSON Lines")),
      h("fieldset", null, h("legend", null, "Erase"), POLICIES.map(([value, label]) => h("label", { class: "check", key: value }, h("input", { type: "radio", name: "policy", checked: policy === value, onChange: () => setPolicy(value) }), label))),
      field("author-again", "The subject once more: this cannot be undone", again, setAgain),
      h(Wrong, { id: "author-wrong", refusals }),
      h("p", null, h("button", { type: "submit", class: "button danger", disabled: !id || busy !== "" }, busy === "erase" ? "Erasing …" : "Erase")),
    ),
    erased &&
      h(
        Table,
        { label: "What was erased", head: ["What", "Done", "Still naming the author"] },
        KINDS.map((kind) => h("tr", { key: kind }, h("th", { scope: "row" }, words(kind)), h("td", { class: "number" }, erased.receipt[kind] === undefined ? "–" : count(erased.receipt[kind])), h("td", { class: "number" }, count(erased.residue[kind] ?? 0)))),
      ),
  );
}

/** @param {string[]} lines
 * @param {string} id */
function download(lines, id) {
  const address = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/jsonl" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${id.replace(/[^\w.-]+/g, "_")}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
}
