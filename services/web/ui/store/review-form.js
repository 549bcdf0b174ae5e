// @ts-check
// Writing and editing one's review. What the API refuses stands at the field that it is about.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { SignIn } from "../shared/account.js";
import { change, first, randomKey } from "../shared/graphql.js";
import { person } from "../shared/session.js";
import { label } from "./reviews.js";

const WORDS = ["", "Poor", "Below average", "All right", "Good", "Excellent"];

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
  };
}

/** The field that a refusal is about.
 * @param {string[]} path */
const fieldOf = (path) => (["rating", "dimensions", "title", "body", "authorName", "recommended"].includes(path[0]) ? path[0] : "");

/** @param {{ product: any, own: any, onSaved: (payload: any, message: string) => void, reload: () => void }} props */
export function ReviewForm({ product, own, onSaved, reload }) {
  const editing = own && own.status !== "REJECTED" && own.status !== "DELETED";
  const storage = `vitrine.draft.${product.id}`;
  const [draft, setDraft] = useState(() => stored(storage) ?? draftOf(editing ? own : null));
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(randomKey());
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const set = (/** @type {any} */ next) => {
    const changed = { ...draft, ...next };
    setDraft(changed);
    keep(storage, changed);
  };
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
    const input = { rating: draft.rating, recommended: draft.recommended, dimensions, title: draft.title, body: draft.body, authorName: draft.authorName || null };
    if (editing) {
      send(() => change("EditReview", { id: own.id, expectedRevision: own.revision, ...input }), "Your review is changed.");
    } else {
      send(() => change("SubmitReview", { productId: product.id, idempotencyKey: key.current, ...input }), "Thank you for your review.");
    }
  };
  const remove = () => send(() => change("DeleteReview", { id: own.id, expectedRevision: own.revision }), "Your review is deleted.");
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
    h(Field, { id: "authorName", text: "Name to show (optional)", refusals: at("authorName"), value: draft.authorName, maxLength: 50, onInput: (/** @type {string} */ authorName) => set({ authorName }) }),
    h(
      "p",
      { class: "buttons" },
      h("button", { type: "submit", class: "button", disabled: busy }, busy ? "Sending …" : editing ? "Save" : "Publish"),
      editing && h("button", { type: "button", class: "button danger", disabled: busy, onClick: remove }, "Delete"),
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
