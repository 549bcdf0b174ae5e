// @ts-check
// Starts an import: files are dropped, sent, tried with a mapping, and imported.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { announcement, navigate, place } from "../shared/navigation.js";
import { sendFile } from "../shared/send.js";
import { changeOnce, fetchAll } from "./data.js";
import { Wrong, refusedAt } from "./form.js";
import { explain } from "./viewer.js";

/** A file: still here, or sent already.
 * @typedef {{ name: string, file?: File, id?: string }} Chosen */

const STEP = `version = 1
system = "supplier"

[product]
external_id = "id"
name = "name"
kind = { value = "thing" }
category = "category"
price = { amount = "price", currency = { value = "EUR" } }
`;

/** The address of the form with what an earlier import has read.
 * @param {string} id */
export const againPath = (id) => `/console/imports/new?from=${encodeURIComponent(id)}`;

/** @param {File} file
 * @param {(share: number) => void} onShare
 * @returns {Promise<string>} the id of the upload */
const send = async (file, onShare) => (await sendFile(`/uploads?name=${encodeURIComponent(file.name)}`, file, onShare)).id;

/** @param {Chosen} one */
const sizeOf = ({ file }) => {
  if (!file) return "sent";
  const { size } = file;
  return size < 1_000_000 ? `${Math.ceil(size / 1_000)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
};

export function NewImport() {
  const from = place.value.query.get("from");
  const [feeds, setFeeds] = useState(/** @type {Chosen[]} */ ([]));
  const [tables, setTables] = useState(/** @type {Chosen[]} */ ([]));
  const [mapping, setMapping] = useState(from ? "" : STEP);
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState("");
  useEffect(() => {
    if (!from) return;
    fetchAll("OneImport", { id: from, after: null }).then(({ import: run }) => {
      if (!run?.source) return;
      setFeeds(run.source.feeds.map((/** @type {string} */ id, /** @type {number} */ at) => ({ id, name: run.feeds[at] })));
      setTables(run.source.tables.map((/** @type {string} */ id, /** @type {number} */ at) => ({ id, name: `File ${at + 1} that the mapping names` })));
      setMapping(run.source.mapping);
    }, (error) => setWrong(explain(error)));
  }, [from]);

  const add = async (/** @type {FileList | null | undefined} */ files) => {
    const all = [...(files ?? [])];
    const [text] = all.filter((file) => file.name.endsWith(".toml"));
    if (text) setMapping(await text.text());
    const added = all.filter((file) => !file.name.endsWith(".toml")).map((file) => ({ name: file.name, file }));
    setFeeds((last) => [...last, ...added]);
    announcement.value = `${all.map((file) => file.name).join(", ")} added`;
  };
  /** The ids of the files; those that are still here are sent.
   * @param {Chosen[]} chosen
   * @param {(kept: Chosen[]) => void} keep */
  const sent = async (chosen, keep) => {
    const known = [...chosen];
    for (const [at, one] of known.entries()) {
      if (one.id || !one.file) continue;
      const id = await send(one.file, (share) => setBusy(`Sending ${one.name}, ${Math.floor(share * 100)}%`));
      known[at] = { ...one, id };
      keep([...known]);
    }
    return known.map((one) => one.id);
  };
  const start = async (/** @type {boolean} */ dryRun) => {
    setRefusals([]);
    setWrong("");
    if (!feeds.length) return setWrong("Choose at least one file.");
    setBusy("Starting …");
    try {
      const input = { feeds: await sent(feeds, setFeeds), tables: await sent(tables, setTables), mapping, dryRun };
      const payload = await changeOnce("StartImport", input);
      if (payload.import) return navigate(`/console/imports/${encodeURIComponent(payload.import.id)}`);
      setRefusals(payload.userErrors);
      // An upload that is gone is sent again the next time, if it is still here.
      const gone = payload.userErrors.filter((/** @type {any} */ one) => one.path.length === 2);
      for (const [field, keep] of /** @type {const} */ ([["feeds", setFeeds], ["tables", setTables]])) {
        const places = gone.filter((/** @type {any} */ one) => one.path[0] === field).map((/** @type {any} */ one) => Number(one.path[1]));
        if (places.length) keep((last) => last.map((one, at) => (places.includes(at) && one.file ? { ...one, id: undefined } : one)));
      }
    } catch (failed) {
      setWrong(explain(/** @type {Error} */ (failed)));
    }
    setBusy("");
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    start(true);
  };
  const at = (/** @type {string} */ field) => refusedAt(refusals, [field], true);
  return h(
    "div",
    { class: "page narrow" },
    h("h1", null, "Start an import"),
    h(
      "form",
      { class: "stack", noValidate: true, onSubmit: submit },
      h(Files, { id: "feeds", label: "Files", hint: "JSON Lines, JSON, CSV, XML, Excel or Parquet, also packed with gzip, zstd or zip; at most 512 MiB each. A mapping (.toml) can be dropped here too.", files: feeds, onAdd: add, onChange: setFeeds, refusals: at("feeds") }),
      h(
        "div",
        { class: "field" },
        h("label", { for: "mapping" }, "Mapping"),
        h("textarea", { id: "mapping", class: "code", rows: 16, spellcheck: false, value: mapping, "aria-describedby": "mapping-hint mapping-wrong", onInput: (/** @type {any} */ event) => setMapping(event.currentTarget.value) }),
        h("p", { class: "hint", id: "mapping-hint" }, "It says where in the file the names, prices and specs are. ", h("code", null, "vitrine mapping init FILE"), " writes a first one."),
        h(Wrong, { id: "mapping-wrong", refusals: at("mapping") }),
      ),
      h(Files, { id: "tables", label: "Files that the mapping names", hint: "Tables that values are looked up in, and files to join with. None for most mappings.", files: tables, onAdd: (files) => setTables((last) => [...last, ...[...(files ?? [])].map((file) => ({ name: file.name, file }))]), onChange: setTables, refusals: at("tables") }),
      wrong && h("p", { class: "wrong", role: "alert" }, wrong),
      h("p", { class: "buttons" }, h("button", { type: "submit", class: "button", disabled: Boolean(busy) }, "Try it first"), h("button", { type: "button", class: "button quiet", disabled: Boolean(busy), onClick: () => start(false) }, "Import"), h("span", { class: "hint", role: "status" }, busy)),
      h("p", { class: "hint" }, "Trying it reads all lines, stores nothing, and says what the outcome of each line would be."),
    ),
  );
}

/** Files to choose or to drop.
 * @param {{ id: string, label: string, hint: string, files: Chosen[], onAdd: (files: FileList | null | undefined) => void, onChange: (files: Chosen[]) => void, refusals: any[] }} props */
function Files({ id, label, hint, files, onAdd, onChange, refusals }) {
  const [over, setOver] = useState(false);
  const drag = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(event.type === "dragover");
  };
  const drop = (/** @type {DragEvent} */ event) => {
    drag(event);
    onAdd(event.dataTransfer?.files);
  };
  const choose = (/** @type {any} */ event) => {
    onAdd(event.currentTarget.files);
    event.currentTarget.value = "";
  };
  return h(
    "div",
    { class: over ? "field dropped over" : "field dropped", onDragOver: drag, onDragLeave: drag, onDrop: drop },
    h("label", { for: id }, label),
    h("input", { id, type: "file", multiple: true, "aria-describedby": `${id}-hint ${id}-wrong`, onChange: choose }),
    h("p", { class: "hint", id: `${id}-hint` }, hint),
    files.length > 0 &&
      h(
        "ul",
        { class: "files" },
        files.map((one, at) => h("li", { key: at }, h("span", { class: "iso" }, one.name), " ", h("span", { class: "hint" }, sizeOf(one)), " ", h("button", { type: "button", class: "link", "aria-label": `Remove ${one.name}`, onClick: () => onChange(files.filter((other) => other !== one)) }, "Remove"))),
      ),
    h(Wrong, { id: `${id}-wrong`, refusals }),
  );
}
