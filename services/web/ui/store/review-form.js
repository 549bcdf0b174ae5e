// @ts-check
// Writing and editing one's review. What the API refuses stands at the field that it is about.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { SignIn } from "../shared/account.js";
import { change, first, randomKey } from "../shared/graphql.js";
import { announcement } from "../shared/navigation.js";
import { PICTURE_TYPES, sendPicture } from "../shared/send.js";
import { person } from "../shared/session.js";
import { label } from "./reviews.js";

const WORDS = ["", "Poor", "Below average", "All right", "Good", "Excellent"];

/** The maximum number of pictures of a review. */
const MAX_PICTURES = 10;

/** The name of the shopper, as far as it is known: a token alone does not say it. */
const ownName = () => (person.value?.subject ? person.value.label.split(",")[0] : "");

/** @param {any} own */
function draftOf(own) {
  return {
    rating: own?.rating ?? 0,
    recommended: own?.recommended ?? null,
    dimensions: Object.fromEntries((own?.dimensions ?? []).map((/** @type {any} */ one) => [one.name, one.rating])),
    title: own?.title ?? "",
    body: own?.body ?? "",
    authorName: own?.author?.name ?? ownName(),
    media: (own?.media ?? []).map((/** @type {any} */ { url, alt, kind }) => ({ url, alt, kind })),
  };
}

/** The field that a refusal is about.
 * @param {string[]} path */
const fieldOf = (path) => (["rating", "dimensions", "title", "body", "authorName", "recommended", "media"].includes(path[0]) ? path[0] : "");

/** @param {{ product: any, own: any, onSaved: (payload: any, message: string) => void, reload: () => void }} props */
export function ReviewForm({ product, own, onSaved, reload }) {
  const editing = own && own.status !== "REJECTED" && own.status !== "DELETED";
  const storage = `vitrine.draft.${product.id}`;
  const [draft, setDraft] = useState(() => stored(storage) ?? draftOf(editing ? own : null));
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  const [sending, setSending] = useState(false);
  const key = useRef(randomKey());
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  // A picture may arrive while somebody writes: changes are made to the last draft.
  const set = (/** @type {any} */ next) =>
    setDraft((/** @type {any} */ last) => {
      const changed = { ...last, ...next };
      keep(storage, changed);
      return changed;
    });
  useEffect(() => {
    /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector("[aria-invalid=true]"))?.focus();
  }, [refusals]);
  if (!person.value) {
    return h("div", { class: "stack" }, h("h2", null, "Write a review"), h("p", null, first.actAs ? "Act as a shopper first: at the top of the page." : "Sign in as a shopper first. What you have written is kept."), !first.actAs && h(SignIn, { id: "writer-token", done: () => {} }));
  }
  const finish = (/** @type {any} */ payload, /** @type {string} */ message) => {
    const conflict = payload.userErrors.some((/** @type {any} */ one) => one.code === "REVISION_CONFLICT");
    if (conflict) reload();
    setRefusals(payload.userErrors);
    if (payload.userErrors.length) return;
    keep(storage, null);
    onSaved(payload, message);
  };
  const send = async (/** @type {() => Promise<any>} */ mutation, /** @type {string} */ message) => {
    setBusy(true);
    setWrong("");
    try {
      finish(await mutation(), message);
    } catch (error) {
      setWrong(explain(/** @type {any} */ (error)));
    }
    setBusy(false);
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!draft.rating) {
      setRefusals([{ path: ["rating"], message: "choose one to five stars" }]);
      return;
    }
    const dimensions = Object.entries(draft.dimensions).filter(([, rating]) => rating).map(([name, rating]) => ({ name, rating }));
    const input = { rating: draft.rating, recommended: draft.recommended, dimensions, title: draft.title, body: draft.body, authorName: draft.authorName || null, media: draft.media ?? draftOf(editing ? own : null).media };
    if (editing) {
      send(() => change("EditReview", { id: own.id, expectedRevision: own.revision, ...input }), "Your review is changed.");
    } else {
      send(() => change("SubmitReview", { productId: product.id, idempotencyKey: key.current, ...input }), "Thank you for your review.");
    }
  };
  const remove = () => send(() => change("DeleteReview", { id: own.id, expectedRevision: own.revision }), "Your review is deleted.");
  const pictures = draft.media?.length ?? 0;
  const at = (/** @type {string} */ field) => refusals.filter((one) => fieldOf(one.path) === field);
  return h(
    "form",
    { class: "stack review-form", ref: form, noValidate: true, onSubmit: submit },
    h("h2", null, editing ? "Edit your review" : "Write a review"),
    h("p", { class: "hint iso" }, product.name),
    at("").map((one) => h("p", { role: "alert", class: "wrong" }, sentence(one.message))),
    wrong && h("p", { role: "alert", class: "wrong" }, wrong),
    h(StarChoice, { name: "rating", legend: "Your rating", value: draft.rating, refusals: at("rating"), onChange: (/** @type {number} */ rating) => set({ rating }) }),
    product.reviewDimensions.map((/** @type {string} */ name) =>
      h(StarChoice, { key: name, name: `dimension-${name}`, legend: `${label(name)} (optional)`, value: draft.dimensions[name] ?? 0, refusals: [], onChange: (/** @type {number} */ rating) => set({ dimensions: { ...draft.dimensions, [name]: rating } }) }),
    ),
    h(Refusals, { id: "dimensions", refusals: at("dimensions") }),
    h(Field, { id: "title", text: "Title (optional)", refusals: at("title"), value: draft.title, maxLength: 200, onInput: (/** @type {string} */ title) => set({ title }) }),
    h(Field, { id: "body", text: "Your review", long: true, refusals: at("body"), value: draft.body, maxLength: 10_000, onInput: (/** @type {string} */ body) => set({ body }) }),
    h(
      "fieldset",
      { class: "switch" },
      h("legend", null, "Would you recommend it?"),
      /** @type {[any, string][]} */ ([[true, "Yes"], [false, "No"], [null, "Not saying"]]).map(([value, text]) =>
        h("label", { key: text }, h("input", { type: "radio", name: "recommended", checked: draft.recommended === value, onChange: () => set({ recommended: value }) }), h("span", null, text)),
      ),
    ),
    (first.pictures || draft.media?.length > 0) && h(Pictures, { media: draft.media ?? [], refusals: at("media"), onBusy: setSending, onChange: (/** @type {any[]} */ media) => set({ media }) }),
    h(Field, { id: "authorName", text: "Name to show (optional)", refusals: at("authorName"), value: draft.authorName, maxLength: 50, onInput: (/** @type {string} */ authorName) => set({ authorName }) }),
    h(
      "p",
      { class: "buttons" },
      h("button", { type: "submit", class: "button", disabled: busy || sending }, busy || sending ? "Sending …" : editing ? "Save" : "Publish"),
      editing && !asking && h("button", { type: "button", class: "button danger", disabled: busy || sending, onClick: () => setAsking(true) }, "Delete …"),
    ),
    editing &&
      asking &&
      h(
        "div",
        { class: "box stack", role: "alertdialog", "aria-labelledby": "review-delete" },
        h("p", { id: "review-delete" }, `Delete the review with its text${pictures ? ` and ${pictures === 1 ? "its picture" : `${pictures} pictures`}` : ""}? It cannot be brought back.`),
        h(
          "p",
          { class: "buttons" },
          h("button", { type: "button", class: "button danger", disabled: busy || sending, onClick: remove }, "Delete it"),
          h("button", { type: "button", class: "button quiet", autofocus: true, onClick: () => setAsking(false) }, "Keep it"),
        ),
      ),
  );
}

/** @param {import("../shared/graphql.js").ApiError} error */
function explain(error) {
  if (error.code === "FORBIDDEN") return "Only shoppers may write reviews. Act as, or sign in as, a shopper.";
  if (error.code === "UNAUTHENTICATED") return "You are not signed in any more. Your text is kept: sign in again.";
  return error.retryable ? `${error.message} Nothing is lost: try again.` : error.message;
}

/** @param {string} text */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** @param {string} name
 * @returns {any} */
function stored(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} name
 * @param {any} draft */
function keep(name, draft) {
  try {
    if (draft) sessionStorage.setItem(name, JSON.stringify(draft));
    else sessionStorage.removeItem(name);
  } catch {
    // Without storage the draft lasts until the page is closed.
  }
}

/** @param {{ id: string, refusals: any[] }} props */
function Refusals({ id, refusals }) {
  return h("span", { id: `${id}-wrong` }, refusals.map((one) => h("span", { class: "wrong", role: "alert", key: one.message }, sentence(one.message))));
}

/** @param {{ id: string, text: string, value: string, maxLength: number, refusals: any[], long?: boolean, onInput: (text: string) => void }} props */
function Field({ id, text, value, maxLength, refusals, long = false, onInput }) {
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, text),
    h(long ? "textarea" : "input", {
      id,
      value,
      maxLength,
      rows: long ? 6 : undefined,
      "aria-invalid": String(refusals.length > 0),
      "aria-describedby": `${id}-wrong`,
      onInput: (/** @type {any} */ event) => onInput(event.currentTarget.value),
    }),
    h(Refusals, { id, refusals }),
  );
}

/** @typedef {{ url: string, alt: string | null, kind: string }} Medium */

/** The pictures of a review: each is sent as soon as it is chosen.
 * @param {{ media: Medium[], refusals: any[], onBusy: (busy: boolean) => void, onChange: (media: Medium[]) => void }} props */
function Pictures({ media, refusals, onBusy, onChange }) {
  const [busy, setBusy] = useState("");
  const [wrong, setWrong] = useState("");
  const last = useRef(media);
  last.current = media;
  const keepAll = (/** @type {Medium[]} */ next) => {
    last.current = next;
    onChange(next);
  };
  const add = async (/** @type {File[]} */ files) => {
    setWrong("");
    onBusy(true);
    try {
      for (const file of files) {
        if (last.current.length >= MAX_PICTURES) throw new Error(`A review shows ${MAX_PICTURES} pictures at most.`);
        const url = await sendPicture(file, setBusy);
        keepAll([...last.current, { url, alt: null, kind: "IMAGE" }]);
        announcement.value = `${file.name} added`;
      }
    } catch (error) {
      setWrong(sentence(/** @type {Error} */ (error).message));
    }
    setBusy("");
    onBusy(false);
  };
  const choose = (/** @type {any} */ event) => {
    add([...event.currentTarget.files]);
    event.currentTarget.value = "";
  };
  const replace = (/** @type {number} */ at, /** @type {Partial<Medium>} */ changed) => keepAll(media.map((one, index) => (index === at ? { ...one, ...changed } : one)));
  return h(
    "fieldset",
    { class: "own-pictures", "aria-describedby": "media-wrong" },
    h("legend", null, "Pictures (optional)"),
    media.length > 0 &&
      h(
        "ul",
        null,
        media.map((one, at) =>
          h(
            "li",
            { key: one.url },
            one.kind === "IMAGE" ? h("img", { src: one.url, alt: "", width: 72, height: 72 }) : h("span", { class: "hint" }, one.kind.toLowerCase()),
            h("span", { class: "field" }, h("label", { for: `media-${at}` }, "What it shows (optional)"), h("input", { id: `media-${at}`, value: one.alt ?? "", maxLength: 500, onInput: (/** @type {any} */ event) => replace(at, { alt: event.currentTarget.value || null }) })),
            h("button", { type: "button", class: "link", "aria-label": `Remove picture ${at + 1}`, onClick: () => keepAll(media.filter((other) => other !== one)) }, "Remove"),
            h(Refusals, { id: `media-${at}`, refusals: refusals.filter((refusal) => refusal.path[1] === String(at)) }),
          ),
        ),
      ),
    first.pictures &&
      h(
        "div",
        { class: "field" },
        h("label", { for: "pictures" }, "Add pictures"),
        h("input", { id: "pictures", type: "file", multiple: true, accept: PICTURE_TYPES, disabled: Boolean(busy), "aria-describedby": "pictures-hint", onChange: choose }),
        h("span", { class: "hint", id: "pictures-hint" }, "JPEG, PNG or WebP. Where and with what they were taken is removed."),
      ),
    h("span", { class: "hint", role: "status" }, busy),
    wrong && h("span", { class: "wrong", role: "alert" }, wrong),
    h(Refusals, { id: "media", refusals: refusals.filter((refusal) => refusal.path.length === 1) }),
  );
}

/** @param {{ name: string, legend: string, value: number, refusals: any[], onChange: (rating: number) => void }} props */
function StarChoice({ name, legend, value, refusals, onChange }) {
  return h(
    "fieldset",
    { class: "star-choice", "aria-describedby": `${name}-wrong` },
    h("legend", null, legend),
    h(
      "span",
      { class: "choice" },
      [1, 2, 3, 4, 5].map((rating) =>
        h(
          "label",
          { key: rating, class: rating <= value ? "on" : "" },
          h("input", { type: "radio", name, value: rating, checked: value === rating, "aria-invalid": refusals.length && rating === 1 ? "true" : undefined, onChange: () => onChange(rating) }),
          h("span", { "aria-hidden": "true" }, "★"),
          h("span", { class: "hidden" }, `${rating} ${rating === 1 ? "star" : "stars"}, ${WORDS[rating]}`),
        ),
      ),
    ),
    h("span", { class: "word", "aria-hidden": "true" }, WORDS[value]),
    h(Refusals, { id: name, refusals }),
  );
}
