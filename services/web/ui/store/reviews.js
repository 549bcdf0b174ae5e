// @ts-check
// The reviews of a product: numbers, filters, all pages, votes, reports, one's own.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { ask, change } from "../shared/graphql.js";
import { average, count, day, percent, plural, total } from "../shared/format.js";
import { followReviews } from "../shared/live.js";
import { person, whose } from "../shared/session.js";
import { Dialog } from "../shared/dialog.js";
import { announcement } from "../shared/navigation.js";
import { ReviewPictures } from "../shared/pictures.js";
import { Trend } from "./chart.js";
import { ReviewForm } from "./review-form.js";
import { Stars, isReal } from "./tile.js";

const PAGE = 10;
const FIRST_PAGE = 5;
const SORTS = [
  ["MOST_HELPFUL", "Most helpful"],
  ["NEWEST", "Newest"],
  ["OLDEST", "Oldest"],
  ["HIGHEST", "Highest rating"],
  ["LOWEST", "Lowest rating"],
];
/** @type {any} */
const ALL = { ratings: null, verifiedOnly: false, withMedia: false, language: null };

/** @param {{ product: any }} props */
export function Reviews({ product }) {
  const [stats, setStats] = useState(product.ratingStats);
  const [sort, setSort] = useState("MOST_HELPFUL");
  const [filter, setFilter] = useState(ALL);
  const [page, setPage] = useState(product.reviews);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const [arrived, setArrived] = useState(/** @type {string[]} */ ([]));
  const [own, setOwn] = useState(/** @type {any} */ (null));
  const [writing, setWriting] = useState(false);
  const [said, setSaid] = useState("");
  const token = whose.value;

  // What votes have changed, newest last: a page that was asked for before does not know it.
  const changes = useRef(/** @type {any[]} */ ([]));
  // What is chosen, at once: two choices may follow each other before the page is drawn again.
  const chosen = useRef({ sort, filter });
  const pending = useRef(/** @type {AbortController | null} */ (null));
  const read = async (/** @type {string | null} */ after = null) => {
    // Only the answer to the last question is shown, in whatever order answers arrive.
    pending.current?.abort();
    const { signal } = (pending.current = new AbortController());
    setBusy(true);
    const known = changes.current.length;
    const { sort, filter } = chosen.current;
    try {
      const variables = { id: product.id, first: after || sort !== "MOST_HELPFUL" ? PAGE : FIRST_PAGE, after, sort, filter };
      const data = await ask("ReviewPage", variables, { signal });
      if (signal.aborted) return;
      const found = data.node.reviews;
      for (const changed of changes.current.slice(known)) found.nodes = withChange(found.nodes, changed);
      setPage((/** @type {any} */ last) => (after ? { ...found, nodes: [...last.nodes, ...found.nodes] } : found));
      announcement.value = after ? plural(found.nodes.length, "more review") : total(found.totalCount, "review");
      setWrong("");
    } catch (error) {
      if (signal.aborted) return;
      setWrong(/** @type {Error} */ (error).message);
    }
    setBusy(false);
  };
  const show = (/** @type {any} */ next) => {
    chosen.current = { ...chosen.current, ...next };
    setSort(chosen.current.sort);
    setFilter(chosen.current.filter);
    read();
  };
  const refreshStats = async () => {
    const data = await ask("Ratings", { id: product.id });
    setStats(data.node.ratingStats);
  };

  useEffect(() => {
    setOwn(null);
    if (!token) return;
    ask("OwnReview", { id: product.id }).then((data) => setOwn(data.node?.viewerReview ?? null), () => {});
    // Votes are those of the visitor.
    read();
  }, [token]);
  useEffect(() => followReviews(product.id, (id) => setArrived((known) => [...known, id])), [product.id]);

  const fresh = arrived.filter((id) => id !== own?.id && !page.nodes.some((/** @type {any} */ one) => one.id === id));
  useEffect(() => {
    if (fresh.length) announcement.value = plural(fresh.length, "new review");
  }, [fresh.length]);
  const showFresh = () => {
    setArrived([]);
    show({ sort: "NEWEST", filter: ALL });
    refreshStats().catch(() => {});
  };
  const saved = (/** @type {any} */ payload, /** @type {string} */ message) => {
    const review = payload.review;
    setOwn(review && review.status !== "DELETED" ? review : null);
    if (payload.product) setStats(payload.product.ratingStats);
    setWriting(false);
    setSaid(message + (payload.statsPending ? " The numbers follow in a moment." : ""));
    announcement.value = message;
    show({ sort: "NEWEST", filter: ALL });
  };
  const update = (/** @type {any} */ changed) => {
    changes.current.push(changed);
    setPage((/** @type {any} */ last) => ({ ...last, nodes: withChange(last.nodes, changed) }));
  };

  return h(
    "section",
    { class: "reviews", id: "reviews", "aria-labelledby": "reviews-title" },
    h("h2", { id: "reviews-title" }, "Reviews"),
    h(Numbers, { product, stats, filter, choose: (/** @type {any} */ ratings) => show({ filter: { ...filter, ratings } }) }),
    h(
      "div",
      { class: "own" },
      h("button", { type: "button", class: "button", onClick: () => setWriting(true) }, own && own.status !== "REJECTED" ? "Edit your review" : "Write a review"),
      h("p", { class: "hint" }, ownState(own)),
      said && h("p", { role: "status", class: "good" }, said),
    ),
    h(
      Dialog,
      { open: writing, onClose: () => setWriting(false), label: "Your review", class: "wide-dialog" },
      writing && h(ReviewForm, { product, own, onSaved: saved, reload: () => ask("OwnReview", { id: product.id }).then((data) => setOwn(data.node?.viewerReview ?? null)) }),
    ),
    stats.count > 0 && h(Tools, { stats, sort, filter, page, show }),
    h("div", { class: "fresh" }, fresh.length > 0 && h("button", { type: "button", class: "button quiet", onClick: showFresh }, `Show ${plural(fresh.length, "new review")}`)),
    wrong && h("p", { role: "alert", class: "wrong" }, wrong),
    h("ol", { class: "opinions", "aria-busy": String(busy) }, page.nodes.map((/** @type {any} */ review) => h(Opinion, { key: review.id, review, mine: review.id === own?.id, update }))),
    !page.nodes.length && stats.count > 0 && h("p", null, "No review fits this choice. ", h("button", { type: "button", class: "link", onClick: () => show({ filter: ALL }) }, "Show all")),
    page.pageInfo.hasNextPage && h("p", { class: "more" }, h("button", { type: "button", class: "button quiet", disabled: busy, onClick: () => read(page.pageInfo.endCursor) }, busy ? "Loading …" : "Show more reviews")),
  );
}

/** @param {any[]} reviews
 * @param {any} changed the id of one of them, and its new fields
 * @returns {any[]} */
const withChange = (reviews, changed) => reviews.map((one) => (one.id === changed.id ? { ...one, ...changed } : one));

/** @param {any} own */
function ownState(own) {
  if (!own) return "";
  if (own.status === "PENDING") return "Your review waits for a moderator. Only you see it.";
  if (own.status === "REJECTED") return "A moderator has rejected your review. You may write another.";
  return `You gave ${plural(own.rating, "star")} on ${day(own.createdAt)}.`;
}

/** @param {{ product: any, stats: any, filter: any, choose: (ratings: number[] | null) => void }} props */
function Numbers({ product, stats, filter, choose }) {
  if (!stats.count) return h("p", { class: "rating none" }, "No ratings yet. Be the first.");
  const { recent } = stats;
  return h(
    "div",
    { class: "numbers" },
    h(
      "div",
      { class: "mean" },
      h("p", { class: "big" }, average(stats.average)),
      h(Stars, { average: stats.average }),
      h("p", null, plural(stats.count, "rating")),
      stats.recommendedShare != null && h("p", null, h("b", null, percent(stats.recommendedShare)), " recommend it"),
      recent?.count > 0 && h("p", { class: "hint" }, `${average(recent.average)} in the last ${recent.days} days (${count(recent.count)})`),
      stats.verifiedCount > 0 && h("p", { class: "hint" }, `${plural(stats.verifiedCount, "verified purchase")}`),
    ),
    h(Histogram, { stats, chosen: filter.ratings ?? [], choose }),
    h(
      "div",
      { class: "aspects" },
      stats.dimensions.filter((/** @type {any} */ one) => one.count > 0).map((/** @type {any} */ one) => h("p", { key: one.name }, h("span", null, label(one.name)), h(Stars, { average: one.average }), h("b", null, average(one.average)))),
      h(Trend, { months: product.ratingTrend }),
    ),
  );
}

/** @param {string} name */
export const label = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

/** @param {{ stats: any, chosen: number[], choose: (ratings: number[] | null) => void }} props */
function Histogram({ stats, chosen, choose }) {
  const toggle = (/** @type {number} */ rating) => {
    const next = chosen.includes(rating) ? chosen.filter((one) => one !== rating) : [...chosen, rating];
    choose(next.length ? next : null);
  };
  return h(
    "ul",
    { class: "bars", "aria-label": "Ratings by stars; each shows only its reviews" },
    stats.histogram.map((/** @type {any} */ bucket) =>
      h(
        "li",
        { key: bucket.rating },
        h(
          "button",
          { type: "button", "aria-pressed": String(chosen.includes(bucket.rating)), onClick: () => toggle(bucket.rating) },
          h("span", { class: "which" }, bucket.rating, h("span", { "aria-hidden": "true" }, " ★"), h("span", { class: "hidden" }, bucket.rating === 1 ? " star," : " stars,")),
          h("svg", { class: "fill", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" }, h("rect", { width: bucket.share * 100, height: 1 })),
          h("span", { class: "number" }, count(bucket.count), h("span", { class: "hidden" }, ` ${bucket.count === 1 ? "review" : "reviews"}, ${percent(bucket.share)}`)),
        ),
      ),
    ),
  );
}

/** @param {{ stats: any, sort: string, filter: any, page: any, show: (next: any) => void }} props */
function Tools({ stats, sort, filter, page, show }) {
  const set = (/** @type {any} */ next) => show({ filter: { ...filter, ...next } });
  const box = (/** @type {string} */ name, /** @type {string} */ text) =>
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: filter[name], onChange: () => set({ [name]: !filter[name] }) }), " ", text);
  return h(
    "div",
    { class: "tools" },
    h("label", { for: "review-sort" }, "Sort by"),
    h("select", { id: "review-sort", value: sort, onChange: (/** @type {any} */ event) => show({ sort: event.currentTarget.value }) }, SORTS.map(([value, text]) => h("option", { key: value, value }, text))),
    stats.verifiedCount > 0 && box("verifiedOnly", "Verified purchases"),
    stats.withMediaCount > 0 && box("withMedia", "With pictures"),
    stats.languages.length > 1 && [
      h("label", { key: "l", for: "review-language" }, "Language"),
      h(
        "select",
        { key: "s", id: "review-language", value: filter.language ?? "", onChange: (/** @type {any} */ event) => set({ language: event.currentTarget.value || null }) },
        h("option", { value: "" }, "All"),
        stats.languages.map((/** @type {any} */ one) => h("option", { key: one.code, value: one.code }, `${one.code} (${count(one.count)})`)),
      ),
    ],
    h("p", { class: "total" }, total(page.totalCount, "review")),
  );
}

/** @param {{ review: any, mine: boolean, update: (changed: any) => void }} props */
function Opinion({ review, mine, update }) {
  const badges = [
    mine && "Yours",
    review.verified && "Verified purchase",
    review.incentivized && "Received something for it",
    review.recommended === true && "Recommends it",
    review.recommended === false && "Does not recommend it",
  ].filter(Boolean);
  return h(
    "li",
    { class: "opinion" },
    h(
      "article",
      null,
      h("h3", { class: "iso" }, review.title || `${plural(review.rating, "star")}`),
      h(
        "p",
        { class: "by" },
        h(Stars, { average: review.rating }),
        " ",
        h("span", { class: "iso" }, review.author?.name ?? "Anonymous"),
        " ",
        h("span", null, day(review.createdAt)),
        review.editedAt && h("span", null, ` · edited ${day(review.editedAt)}`),
      ),
      badges.length > 0 && h("ul", { class: "badges" }, badges.map((text) => h("li", { key: text }, text))),
      h(Body, { text: review.body, language: review.language }),
      review.dimensions.length > 0 && h("p", { class: "hint" }, review.dimensions.map((/** @type {any} */ one) => `${label(one.name)} ${one.rating}/5`).join(" · ")),
      h(ReviewPictures, { media: review.media.filter((/** @type {any} */ one) => isReal(one.url)) }),
      review.reply && h("div", { class: "reply" }, h("p", null, h("b", null, "Reply of the shop"), ` ${day(review.reply.at)}`), h("p", { class: "iso" }, review.reply.text)),
      h(Reactions, { review, mine, update }),
    ),
  );
}

const LONG = 700;

/** @param {{ text: string, language: string | null }} props */
function Body({ text, language }) {
  const [whole, setWhole] = useState(text.length <= LONG);
  return h(
    "p",
    { class: "body iso", lang: language ?? undefined },
    whole ? text : `${text.slice(0, LONG - 100)}… `,
    !whole && h("button", { type: "button", class: "link", onClick: () => setWhole(true) }, "Read on"),
  );
}

/** @param {{ review: any, mine: boolean, update: (changed: any) => void }} props */
function Reactions({ review, mine, update }) {
  const [wrong, setWrong] = useState("");
  const [reporting, setReporting] = useState(false);
  const vote = async (/** @type {"HELPFUL" | "UNHELPFUL"} */ wanted) => {
    if (!person.value) return setWrong("Sign in to vote.");
    const undo = review.viewerVote === wanted;
    // Shown at once; the answer corrects it.
    const before = { id: review.id, helpfulCount: review.helpfulCount, unhelpfulCount: review.unhelpfulCount, viewerVote: review.viewerVote };
    const field = wanted === "HELPFUL" ? "helpfulCount" : "unhelpfulCount";
    update({ id: review.id, viewerVote: undo ? null : wanted, [field]: review[field] + (undo ? -1 : 1) });
    try {
      const payload = await (undo ? change("RemoveVote", { id: review.id }) : change("VoteReview", { id: review.id, vote: wanted }));
      const refusal = payload.userErrors[0];
      update(refusal || !payload.review ? before : payload.review);
      setWrong(refusal?.message ?? "");
    } catch (error) {
      update(before);
      setWrong(/** @type {Error} */ (error).message);
    }
    return undefined;
  };
  const button = (/** @type {"HELPFUL" | "UNHELPFUL"} */ wanted, /** @type {string} */ text, /** @type {number} */ number) =>
    h("button", { type: "button", class: "vote", "aria-pressed": String(review.viewerVote === wanted), onClick: () => vote(wanted) }, text, " ", h("span", null, count(number)));
  if (mine) return h("p", { class: "hint" }, `${plural(review.helpfulCount, "reader")} found it helpful.`);
  return h(
    "div",
    { class: "reactions" },
    button("HELPFUL", "Helpful", review.helpfulCount),
    button("UNHELPFUL", "Not helpful", review.unhelpfulCount),
    h("button", { type: "button", class: "link", onClick: () => (person.value ? setReporting(true) : setWrong("Sign in to report.")) }, "Report"),
    wrong && h("span", { role: "alert", class: "wrong" }, wrong),
    h(Dialog, { open: reporting, onClose: () => setReporting(false), label: "Report this review" }, reporting && h(Report, { review, done: () => setReporting(false) })),
  );
}

const REASONS = [
  ["SPAM", "It is advertising"],
  ["OFFENSIVE", "It offends"],
  ["OFF_TOPIC", "It is not about the product"],
  ["PERSONAL_DATA", "It has personal data"],
  ["FAKE", "It is fake"],
  ["ILLEGAL", "It is illegal"],
  ["OTHER", "Something else"],
];

/** @param {{ review: any, done: () => void }} props */
function Report({ review, done }) {
  const [reason, setReason] = useState("SPAM");
  const [note, setNote] = useState("");
  const [said, setSaid] = useState("");
  const [wrong, setWrong] = useState("");
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const payload = await change("ReportReview", { id: review.id, reason, note: note.trim() || null });
      if (payload.userErrors.length) setWrong(payload.userErrors[0].message);
      else setSaid("Thank you. A moderator will look at it.");
    } catch (error) {
      setWrong(/** @type {Error} */ (error).message);
    }
  };
  if (said) return h("div", { class: "stack" }, h("p", { role: "status" }, said), h("button", { type: "button", class: "button", onClick: done }, "Close"));
  return h(
    "form",
    { class: "stack", onSubmit: send },
    h("h2", null, "Report this review"),
    h(
      "fieldset",
      null,
      h("legend", null, "What is wrong with it?"),
      REASONS.map(([value, text]) => h("label", { class: "check", key: value }, h("input", { type: "radio", name: "reason", value, checked: reason === value, onChange: () => setReason(value) }), " ", text)),
    ),
    h("label", { for: "note" }, "Note (optional)"),
    h("textarea", { id: "note", rows: 3, maxLength: 1000, value: note, onInput: (/** @type {any} */ event) => setNote(event.currentTarget.value) }),
    wrong && h("p", { role: "alert", class: "wrong" }, wrong),
    h("button", { type: "submit", class: "button" }, "Report"),
  );
}
