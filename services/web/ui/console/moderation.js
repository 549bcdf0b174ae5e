// @ts-check
// The queue of reviews that wait for a moderator. Every decision has a key, and the next review comes by itself.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { count, plural, total } from "../shared/format.js";
import { announcement, navigate, place } from "../shared/navigation.js";
import { fetchAll, keep, stored, useAsked } from "./data.js";
import { nameOf } from "./form.js";
import { Failure, Loading, Stars, Time } from "./parts.js";
import { Reasons, Reply, ReviewFacts, ReviewText, decide, refusedText, waiting } from "./review.js";
import { useTypes } from "./schema.js";
import { explain } from "./viewer.js";

const PAGE = 20;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** When fewer are left to decide, the next page is loaded. */
const FEW = 6;
const KEYS = "vitrine.keys";
const REASONS = [
  ["", "All"],
  ["REPORTED", "Reported"],
  ["PENDING", "New"],
];

/** @typedef {{ review: any, decision: string, reason: string }} Done */

/** What the address of the queue stands for.
 * @param {URLSearchParams} query */
function listOf(query) {
  /** @type {Record<string, any>} */
  const filter = {};
  if (query.has("product")) filter.product = query.get("product");
  const stars = query.getAll("stars").map(Number).filter((number) => number >= 1 && number <= 5);
  if (stars.length) filter.ratings = stars;
  const language = query.get("language") ?? "";
  if (/^[a-z]{2}$/i.test(language)) filter.language = language;
  const days = Number(query.get("older"));
  // A whole hour, so that the same list is asked for again.
  if (days > 0) filter.queuedBefore = new Date(Math.floor(Date.now() / HOUR) * HOUR - days * DAY).toISOString();
  return { reason: query.get("reason") || null, filter: Object.keys(filter).length ? filter : null, sort: query.get("sort") === "newest" ? "NEWEST" : null };
}

export function Moderation() {
  const { query } = place.value;
  const list = listOf(query);
  const reason = list.reason ?? "";
  const { data, reload } = useAsked("QueueCounts", {});
  const found = data?.moderationCounts;
  const waits = (/** @type {string} */ value) => {
    if (!found) return "";
    const number = found.counts.filter((/** @type {any} */ one) => !value || one.reason === value).reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.count, 0);
    return ` (${found.total.relation === "EXACT" ? "" : "at least "}${count(number)})`;
  };
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    navigate(`/console/moderation${next.size ? `?${next}` : ""}`, { stay: true });
  };
  return h(
    "div",
    { class: "page" },
    h(
      "div",
      { class: "heading" },
      h("h1", null, "Moderation"),
      h(
        "div",
        { class: "tools" },
        h("label", { for: "reason" }, "Waiting because"),
        h("select", { id: "reason", value: reason, onChange: (/** @type {any} */ event) => set("reason", event.currentTarget.value) }, REASONS.map(([value, label]) => h("option", { key: value, value }, label + waits(value)))),
        h("a", { class: "button quiet", href: "/console/fairness" }, "Fairness report"),
      ),
    ),
    h(Counts, { found }),
    h(Narrow, { query, set }),
    h(Queue, { key: JSON.stringify(list), list, onDecided: reload }),
  );
}

/** How many wait, for what and since when. Its line is always there, so that nothing below moves.
 * @param {{ found: any }} props */
function Counts({ found }) {
  if (!found?.counts.length) return h("ul", { class: "chips", "aria-label": "What waits" }, h("li", { class: "chip plain" }, found ? "Nothing waits" : "\u00a0"));
  const least = found.total.relation === "EXACT" ? "" : "at least ";
  return h(
    "ul",
    { class: "chips", "aria-label": "What waits" },
    found.counts.map((/** @type {any} */ one) => h("li", { key: one.reason + one.status, class: "chip plain" }, `${REASONS.find(([value]) => value === one.reason)?.[1]}, ${nameOf(one.status).toLowerCase()}: ${least}${count(one.count)}, the first since `, h(Time, { at: one.oldest }))),
  );
}

/** Narrows the queue down, and orders it.
 * @param {{ query: URLSearchParams, set: (name: string, value: string) => void }} props */
function Narrow({ query, set }) {
  const [language, setLanguage] = useState(query.get("language") ?? "");
  const choose = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string[][]} */ options) => [
    h("label", { key: `${name}-label`, for: `queue-${name}` }, label),
    h("select", { key: name, id: `queue-${name}`, value: query.get(name) ?? "", onChange: (/** @type {any} */ event) => set(name, event.currentTarget.value) }, options.map(([value, text]) => h("option", { key: value, value }, text))),
  ];
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    set("language", language.trim().toLowerCase());
  };
  return h(
    "form",
    { class: "tools", "aria-label": "Which reviews", onSubmit: submit },
    choose("stars", "Stars", [["", "Any"], ...[1, 2, 3, 4, 5].map((stars) => [String(stars), plural(stars, "star")])]),
    choose("older", "Waiting for", [["", "Any time"], ["1", "More than a day"], ["7", "More than a week"]]),
    choose("sort", "Order", [["", "Longest waiting first"], ["newest", "Shortest waiting first"]]),
    h("label", { for: "queue-language" }, "Language"),
    h("input", { id: "queue-language", value: language, maxLength: 2, pattern: "[A-Za-z]{2}", title: "Two letters, such as en", size: 4, onInput: (/** @type {any} */ event) => setLanguage(event.currentTarget.value), onChange: submit }),
    query.has("product") && h("button", { type: "button", class: "chip", onClick: () => set("product", "") }, "One product", h("span", { "aria-hidden": "true" }, " ×"), h("span", { class: "hidden" }, ", remove")),
  );
}

/** @param {any} list */
function useQueue(list) {
  const [rows, setRows] = useState(/** @type {any[] | null} */ (null));
  const [all, setAll] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const next = useRef(/** @type {string | null} */ (null));
  const loading = useRef(false);
  const load = async (/** @type {string | null} */ after) => {
    if (loading.current) return;
    loading.current = true;
    try {
      const { moderationQueue: page } = await fetchAll("Queue", { ...list, first: PAGE, after });
      next.current = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
      setAll(page.totalCount);
      setRows((old) => {
        const known = new Set((after ? (old ?? []) : []).map((one) => one.id));
        return [...(after ? (old ?? []) : []), ...page.nodes.filter((/** @type {any} */ one) => !known.has(one.id))];
      });
      setError(null);
    } catch (failed) {
      setError(/** @type {Error} */ (failed));
    }
    loading.current = false;
  };
  useEffect(() => void load(null), []);
  useEffect(() => {
    if (rows && rows.length < FEW && next.current) load(next.current);
  }, [rows]);
  return {
    rows,
    all,
    error,
    reload: () => load(null),
    remove: (/** @type {string} */ id) => {
      setRows((old) => (old ?? []).filter((one) => one.id !== id));
      setAll((/** @type {any} */ last) => last && { ...last, value: Math.max(0, last.value - 1) });
    },
    replace: (/** @type {any} */ review) => setRows((old) => (old ?? []).map((one) => (one.id === review.id ? { ...one, ...review } : one))),
    putBack: (/** @type {any} */ review) => setRows((old) => [review, ...(old ?? []).filter((one) => one.id !== review.id)]),
  };
}

/** @param {{ list: any, onDecided: () => void }} props */
function Queue({ list, onDecided }) {
  const { types, error: untyped } = useTypes();
  const queue = useQueue(list);
  const [chosen, setChosen] = useState("");
  const [asking, setAsking] = useState(/** @type {"REJECT" | null} */ (null));
  const [done, setDone] = useState(/** @type {Done[]} */ ([]));
  const [wrong, setWrong] = useState("");
  const [keys, setKeys] = useState(stored(KEYS, true));
  const busy = useRef(false);
  const rows = queue.rows ?? [];
  const at = Math.max(0, rows.findIndex((one) => one.id === chosen));
  const current = rows[at];
  const show = (/** @type {any} */ review, focus = true) => {
    if (!review) return;
    setChosen(review.id);
    setAsking(null);
    setWrong("");
    // Not when a key has already opened the reasons, which have the focus then.
    const showTitle = () => document.querySelector(".reasons") || document.getElementById("review-title")?.focus();
    if (focus) setTimeout(showTitle, 0);
  };
  const refresh = async (/** @type {any} */ review) => {
    const { node } = await fetchAll("OneReview", { id: review.id });
    if (node?.queuedSince) queue.replace(node);
    else queue.remove(review.id);
  };
  const settle = async (/** @type {any} */ review, /** @type {"PUBLISH" | "REJECT"} */ decision, /** @type {string} */ why, note = "") => {
    if (busy.current || !review) return;
    busy.current = true;
    try {
      const { review: decided, refusals } = await decide(review, { decision, reason: why, note });
      if (refusals.length) {
        await refresh(review);
        setWrong(refusedText(refusals));
      } else {
        const following = rows[at + 1] ?? rows[at - 1];
        queue.remove(review.id);
        setWrong("");
        setDone((last) => [{ review: { ...review, ...decided }, decision, reason: why }, ...last]);
        show(following);
        onDecided();
        announcement.value = `${decision === "PUBLISH" ? "Published" : "Rejected"}. ${following ? `Next: ${following.title || "without a title"}` : "The queue is empty"}`;
      }
    } catch (error) {
      setWrong(explain(/** @type {Error} */ (error)));
    }
    busy.current = false;
  };
  const undo = async (/** @type {Done | undefined} */ last) => {
    if (busy.current || !last) return;
    busy.current = true;
    try {
      const { refusals } = await decide(last.review, { decision: "RESTORE", reason: "MISTAKE", note: "" });
      if (refusals.length) setWrong(refusedText(refusals));
      else {
        const { node } = await fetchAll("OneReview", { id: last.review.id });
        setDone((all) => all.filter((one) => one !== last));
        queue.putBack(node);
        show(node);
        onDecided();
        announcement.value = "Back in the queue";
      }
    } catch (error) {
      setWrong(explain(/** @type {Error} */ (error)));
    }
    busy.current = false;
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    if (!keys || asking || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("input, textarea, select, [contenteditable], dialog") || !types) return;
    const act = {
      j: () => show(rows[at + 1]),
      k: () => show(rows[at - 1]),
      p: () => settle(current, "PUBLISH", "ACCEPTABLE"),
      r: () => current && setAsking("REJECT"),
      u: () => undo(done[0]),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  // The keys act on what is shown, also right after it has changed.
  const pressed = useRef(press);
  pressed.current = press;
  useEffect(() => {
    const listen = (/** @type {KeyboardEvent} */ event) => pressed.current(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  const toggleKeys = (/** @type {any} */ event) => {
    setKeys(event.currentTarget.checked);
    keep(KEYS, event.currentTarget.checked);
  };
  if (!queue.rows || !types) return h(Loading, { error: queue.error ?? untyped, reload: queue.reload });
  return h(
    "div",
    { class: "queue" },
    h(
      "div",
      { class: "tools" },
      h("p", { class: "total" }, queue.all ? `${total(queue.all, "review")} waiting` : ""),
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: keys, onChange: toggleKeys }), "Single keys act"),
      keys && h("p", { class: "hint keys" }, h("kbd", null, "p"), " publish ", h("kbd", null, "r"), " reject ", h("kbd", null, "u"), " undo ", h("kbd", null, "j"), " next ", h("kbd", null, "k"), " previous"),
    ),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
    h(Failure, { error: queue.error, reload: queue.reload }),
    current
      ? h(
          "div",
          { class: "desk" },
          h(Waiting, { rows, current, onChoose: show }),
          h(
            "div",
            { class: "work" },
            h(ReviewText, { review: current }),
            asking
              ? h(Reasons, { types, decision: asking, onChoose: (why, note) => settle(current, asking, why, note), onCancel: () => show(current) })
              : h(
                  "p",
                  { class: "buttons" },
                  h("button", { type: "button", class: "button", onClick: () => settle(current, "PUBLISH", "ACCEPTABLE") }, "Publish"),
                  h("button", { type: "button", class: "button danger", onClick: () => setAsking("REJECT") }, "Reject …"),
                ),
            current.status === "PUBLISHED" && h(Reply, { key: current.id, review: current, onSaved: queue.replace }),
          ),
          h(ReviewFacts, { review: current }),
        )
      : h("p", { class: "box", role: "status" }, "Nothing is waiting. Well done."),
    done.length > 0 && h(Decided, { done, undo }),
  );
}

/** @param {{ rows: any[], current: any, onChoose: (review: any) => void }} props */
function Waiting({ rows, current, onChoose }) {
  return h(
    "nav",
    { class: "waiting-list", "aria-label": "Waiting reviews" },
    h(
      "ol",
      null,
      rows.map((one) =>
        h(
          "li",
          { key: one.id },
          h(
            "button",
            { type: "button", class: "waiting-one", "aria-current": one === current ? "true" : undefined, onClick: () => onChoose(one) },
            h("span", { class: "iso name" }, one.title || "Without a title"),
            h("span", { class: "meta" }, h(Stars, { rating: one.rating }), waiting(one)),
          ),
        ),
      ),
    ),
  );
}

/** What was decided on this page, with the way back.
 * @param {{ done: Done[], undo: (one: Done) => void }} props */
function Decided({ done, undo }) {
  return h(
    "section",
    { class: "decided", "aria-labelledby": "decided" },
    h("h2", { id: "decided" }, `${plural(done.length, "decision")} on this page`),
    h(
      "ul",
      null,
      done.map((one, index) =>
        h(
          "li",
          { key: `${one.review.id}-${index}` },
          h("span", null, one.decision === "PUBLISH" ? "Published" : `Rejected: ${nameOf(one.reason)}`),
          h("a", { class: "iso", href: `/console/reviews/${encodeURIComponent(one.review.id)}` }, one.review.title || "Without a title"),
          h("button", { type: "button", class: "link", onClick: () => undo(one) }, "Undo", h("span", { class: "hidden" }, ` the decision on ${one.review.title}`)),
        ),
      ),
    ),
  );
}

/** One review, in whatever status.
 * @param {{ id: string }} props */
export function OneReview({ id }) {
  const { types, error: untyped } = useTypes();
  const { data, error, reload } = useAsked("OneReview", { id });
  const [asking, setAsking] = useState(/** @type {"PUBLISH" | "REJECT" | "RESTORE" | null} */ (null));
  const [wrong, setWrong] = useState("");
  const review = data?.node;
  if (!data || !types) return h(Loading, { error: error ?? untyped, reload });
  if (review?.__typename !== "Review") return h("div", { class: "page narrow" }, h("h1", null, "There is no such review"));
  const settle = async (/** @type {string} */ reason, /** @type {string} */ note) => {
    if (!asking) return;
    try {
      const { refusals } = await decide(review, { decision: asking, reason, note });
      setWrong(refusedText(refusals));
      if (!refusals.length) announcement.value = "Decided";
    } catch (failed) {
      setWrong(explain(/** @type {Error} */ (failed)));
    }
    setAsking(null);
    reload();
  };
  return h(
    "div",
    { class: "page" },
    h("h1", null, "Review"),
    h("p", { class: "hint" }, waiting(review)),
    wrong && h("p", { class: "wrong", role: "alert" }, wrong),
    h(
      "div",
      { class: "desk one" },
      h(
        "div",
        { class: "work" },
        h(ReviewText, { review }),
        asking
          ? h(Reasons, { types, decision: asking, onChoose: settle, onCancel: () => setAsking(null) })
          : review.status !== "DELETED" &&
              h(
                "p",
                { class: "buttons" },
                (review.status !== "PUBLISHED" || review.queuedSince) && h("button", { type: "button", class: "button", onClick: () => setAsking("PUBLISH") }, "Publish …"),
                review.status !== "REJECTED" && h("button", { type: "button", class: "button danger", onClick: () => setAsking("REJECT") }, "Reject …"),
                !review.queuedSince && h("button", { type: "button", class: "button quiet", onClick: () => setAsking("RESTORE") }, "Back into the queue …"),
              ),
        review.status === "PUBLISHED" && h(Reply, { key: review.id, review, onSaved: reload }),
      ),
      h(ReviewFacts, { review }),
    ),
  );
}
