// @ts-check
// A review as moderators see it: the text, who reported it and why, what it said before, what was decided.
import { h } from "../vendor/preact/preact.js";
import { useLayoutEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { average, plural } from "../shared/format.js";
import { change } from "../shared/graphql.js";
import { announcement } from "../shared/navigation.js";
import { ReviewPictures } from "../shared/pictures.js";
import { Wrong, nameOf, sentence } from "./form.js";
import { Stars, Time, ago } from "./parts.js";
import { valuesOf } from "./schema.js";
import { explain, may } from "./viewer.js";

/** @param {{ review: any }} props */
export function ReviewText({ review }) {
  const { product } = review;
  const facts = [
    review.verified ? "verified purchase" : "no purchase known",
    review.incentivized && "incentivised",
    review.language && `language ${review.language}`,
    review.recommended !== null && (review.recommended ? "recommends the product" : "does not recommend the product"),
    `${review.helpfulCount} found it helpful, ${review.unhelpfulCount} not`,
  ];
  return h(
    "article",
    { class: "review box", "aria-labelledby": "review-title" },
    h("h2", { id: "review-title", class: "iso", tabIndex: -1 }, review.title || "Without a title"),
    h(
      "p",
      { class: "by" },
      h(Stars, { rating: review.rating }),
      h("span", { class: "iso" }, review.author?.name ?? "Anonymous"),
      review.createdAt && h("span", null, h(Time, { at: review.createdAt })),
      review.editedAt && h("span", null, "edited ", h(Time, { at: review.editedAt })),
      h("span", { class: "status" }, nameOf(review.status)),
    ),
    product && h("p", { class: "of iso" }, "About ", may(["ADMIN"]) ? h("a", { href: `/console/products/${encodeURIComponent(product.id)}` }, product.name) : h("b", null, product.name), " ", h("a", { href: `/console/moderation?product=${encodeURIComponent(product.id)}` }, "all that wait of it"), product.ratingStats.count > 0 && ` (${average(product.ratingStats.average)} from ${plural(product.ratingStats.count, "review")})`),
    h("p", { class: "body iso", lang: review.language ?? undefined }, review.body || "Without a text"),
    h(ReviewPictures, { media: review.media }),
    review.dimensions.length > 0 && h("p", { class: "hint iso" }, review.dimensions.map((/** @type {any} */ one) => `${one.name}: ${one.rating}`).join(", ")),
    h("p", { class: "hint" }, facts.filter(Boolean).join(" · ")),
    review.reply && h("p", { class: "reply iso" }, h("b", null, "Reply of the shop: "), review.reply.text),
  );
}

/** What stands beside the text: reports, earlier versions, decisions.
 * @param {{ review: any }} props */
export function ReviewFacts({ review }) {
  return h(
    "div",
    { class: "beside" },
    h(
      "section",
      { "aria-labelledby": "reports" },
      h("h3", { id: "reports" }, plural(review.reports.length, "open report")),
      h(
        "ul",
        { class: "notes" },
        review.reports.map((/** @type {any} */ one, /** @type {number} */ at) =>
          h("li", { key: at }, h("b", null, nameOf(one.reason)), " by ", h("span", { class: "iso" }, one.by ?? "somebody erased"), ", ", h(Time, { at: one.at }), one.note && h("blockquote", { class: "iso" }, one.note)),
        ),
      ),
    ),
    review.versions.length > 0 &&
      h(
        "section",
        { "aria-labelledby": "versions" },
        h("h3", { id: "versions" }, plural(review.versions.length, "earlier version")),
        [...review.versions].reverse().map((one) =>
          h(
            "details",
            { key: one.revision, class: "version" },
            h("summary", null, h(Stars, { rating: one.rating }), " until ", h(Time, { at: one.until })),
            h("p", { class: "iso" }, h("b", null, one.title)),
            h("p", { class: "body iso" }, one.body),
          ),
        ),
      ),
    h(
      "section",
      { "aria-labelledby": "decisions" },
      h("h3", { id: "decisions" }, "Decisions so far"),
      review.moderation.length === 0 && h("p", { class: "hint" }, "None."),
      h(
        "ul",
        { class: "notes" },
        [...review.moderation].reverse().map((one, at) =>
          h("li", { key: at }, `${nameOf(one.from)} → ${nameOf(one.to)}: `, h("b", null, nameOf(one.reason)), " by ", h("span", { class: "iso" }, one.by), ", ", h(Time, { at: one.at }), one.note && h("blockquote", { class: "iso" }, one.note)),
        ),
      ),
    ),
  );
}

/** @typedef {{ decision: "PUBLISH" | "REJECT" | "RESTORE", reason: string, note: string }} Decision */

/** Decides a review. What is refused is returned, and nothing is decided then.
 * @param {any} review
 * @param {Decision} decision
 * @returns {Promise<{ review: any, refusals: any[] }>} */
export async function decide(review, { decision, reason, note }) {
  const payload = await change("ModerateReview", { id: review.id, decision, reason, note: note.trim() || null, expectedRevision: review.revision });
  return { review: payload.review, refusals: payload.userErrors };
}

/** Reasons that stand for nothing wrong. */
const GOOD = ["ACCEPTABLE", "MISTAKE"];

/** Chooses why a review is rejected; each reason has a number key.
 * @param {{ types: import("./schema.js").Types, decision: "REJECT" | "RESTORE" | "PUBLISH", onChoose: (reason: string, note: string) => void, onCancel: () => void }} props */
export function Reasons({ types, decision, onChoose, onCancel }) {
  const [note, setNote] = useState("");
  const all = valuesOf(types, "ModerationReason");
  const reasons = decision === "REJECT" ? all.filter((one) => !GOOD.includes(one.name)) : all;
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  // At once, so that no key is lost that follows the one that asked.
  useLayoutEffect(() => box.current?.querySelector("button")?.focus(), []);
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      onCancel();
      return;
    }
    const chosen = reasons[Number(event.key) - 1];
    if (!chosen || event.target instanceof HTMLTextAreaElement || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    onChoose(chosen.name, note);
  };
  const verb = { REJECT: "reject", RESTORE: "put back into the queue", PUBLISH: "publish" }[decision];
  return h(
    "div",
    { class: "reasons", ref: box, onKeyDown: key, role: "group", "aria-label": `Why ${verb}` },
    h("p", null, h("b", null, `Why ${verb}?`), h("span", { class: "hint" }, " A number chooses, Escape goes back.")),
    h(
      "div",
      { class: "reason-list" },
      reasons.map((one, at) =>
        h("button", { key: one.name, type: "button", class: "button quiet", title: one.description, onClick: () => onChoose(one.name, note) }, h("kbd", null, at + 1), nameOf(one.name)),
      ),
    ),
    h(
      "div",
      { class: "field" },
      h("label", { for: "decision-note" }, "Note for other moderators (optional)"),
      h("textarea", { id: "decision-note", rows: 2, maxLength: 1_000, value: note, onInput: (/** @type {any} */ event) => setNote(event.currentTarget.value) }),
    ),
    h("p", null, h("button", { type: "button", class: "link", onClick: onCancel }, "Back")),
  );
}

/** The reply of the shop, which everybody reads.
 * @param {{ review: any, onSaved: (review: any) => void }} props */
export function Reply({ review, onSaved }) {
  const [text, setText] = useState(review.reply?.text ?? "");
  const [refusals, setRefusals] = useState(/** @type {any[]} */ ([]));
  const [busy, setBusy] = useState(false);
  const send = async (/** @type {string | null} */ next) => {
    setBusy(true);
    try {
      const payload = await change("ReplyToReview", { id: review.id, text: next, expectedRevision: review.revision });
      setRefusals(payload.userErrors);
      if (!payload.userErrors.length) {
        announcement.value = next === null ? "The reply is taken back" : "The reply is published";
        setText(next ?? "");
        onSaved(payload.review);
      }
    } catch (error) {
      setRefusals([{ path: [], message: explain(/** @type {Error} */ (error)) }]);
    }
    setBusy(false);
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!busy) send(text);
  };
  return h(
    "details",
    { class: "reply-form" },
    h("summary", null, review.reply ? "Change the reply of the shop" : "Reply for the shop"),
    h(
      "form",
      { class: "stack", noValidate: true, onSubmit: submit },
      h("div", { class: "field" }, h("label", { for: "reply" }, "Reply, for everybody to read"), h("textarea", { id: "reply", rows: 4, maxLength: 5_000, value: text, "aria-invalid": refusals.length ? "true" : undefined, "aria-describedby": "reply-wrong", onInput: (/** @type {any} */ event) => setText(event.currentTarget.value) }), h(Wrong, { id: "reply-wrong", refusals })),
      h(
        "p",
        { class: "buttons" },
        h("button", { type: "submit", class: "button", disabled: busy || !text.trim() }, "Publish the reply"),
        review.reply && h("button", { type: "button", class: "button quiet", disabled: busy, onClick: () => send(null) }, "Take it back"),
      ),
    ),
  );
}

/** What is waiting, since when.
 * @param {any} review */
export const waiting = (review) => (review.queuedSince ? `${review.queueReason === "REPORTED" ? plural(review.reports.length, "report") : "new"}, waits ${ago(review.queuedSince)}` : "not waiting");

/** @param {any[]} refusals */
export const refusedText = (refusals) => {
  if (refusals.some((one) => one.code === "REVISION_CONFLICT")) return "The review was changed meanwhile. Read it again before you decide.";
  return refusals.map((one) => sentence(one.message)).join(" ");
};
