// @ts-check
// How the service is doing: workers, data versions, audit, what is trending, data of authors.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { count, plural } from "../shared/format.js";
import { change } from "../shared/graphql.js";
import { announcement } from "../shared/navigation.js";
import { fetchAll, useAsked, useRepeated } from "./data.js";
import { nameOf } from "./form.js";
import { categories } from "./lists.js";
import { Failure, Loading, Table, Time, duration, labelled } from "./parts.js";
import { CategoryField } from "./pickers.js";
import { Authors } from "./authors.js";

const POLL_INTERVAL = 5_000;

export function System() {
  const [live, setLive] = useState(true);
  const { data, error, reload } = useAsked("Workers", {});
  useRepeated(live ? reload : null, POLL_INTERVAL);
  if (!data) return h(Loading, { error, reload });
  return h(
    "div",
    { class: "page system" },
    h(
      "div",
      { class: "heading" },
      h("h1", null, "Operations"),
      h("p", { class: "tools" }, h("label", { class: "check" }, h("input", { type: "checkbox", checked: live, onChange: (/** @type {any} */ event) => setLive(event.currentTarget.checked) }), `Ask again every ${POLL_INTERVAL / 1_000} seconds`), h("button", { type: "button", class: "button quiet small", onClick: reload }, "Ask now")),
    ),
    h(Failure, { error, reload }),
    h(Workers, { workers: data.workers }),
    h(Versions, { versions: data.dataVersions }),
    h(Findings, null),
    h(Audit, null),
    h(Trending, null),
    h(Authors, null),
  );
}

/** @param {{ workers: any[] }} props */
function Workers({ workers }) {
  const troubled = workers.filter((one) => one.state === "FAILING" || one.state === "UNATTENDED");
  return h(
    "section",
    { "aria-labelledby": "workers" },
    h("h2", { id: "workers" }, "Workers"),
    troubled.length > 0 && h("p", { class: "box warning" }, h("b", null, "Warning: "), troubled.map((one) => `${one.name} is ${one.state === "FAILING" ? "failing" : "run by no process"}`).join(", "), "."),
    h(
      Table,
      { label: "Workers", class: "workers", head: ["Worker", "State", "Waiting", "Lag", "Last run", "Runs", "Failed", "Done", "Process"] },
      workers.map((one) => [
        h(
          "tr",
          { key: one.name },
          h("th", { scope: "row" }, one.name, h("span", { class: "hint purpose" }, one.purpose)),
          h("td", null, h("span", { class: `state ${one.state.toLowerCase()}` }, nameOf(one.state))),
          h("td", { class: "number" }, count(one.backlog), one.leftAlone > 0 && h("span", { class: "hint" }, `, ${count(one.leftAlone)} for a newer release`)),
          h("td", { class: "number" }, one.waitingSince ? duration(one.lagSeconds) : "–"),
          h("td", null, one.lastRunAt ? [h(Time, { key: "t", at: one.lastRunAt }), h("span", { class: "hint", key: "m" }, ` ${duration(one.lastRunMillis / 1_000)}`)] : "never"),
          h("td", { class: "number" }, count(one.runs)),
          h("td", { class: "number" }, count(one.failures)),
          h("td", { class: "number" }, count(one.done)),
          h("td", { class: "iso" }, one.process ?? "–"),
        ),
        one.lastError && h("tr", { key: `${one.name} error` }, h("td", { colSpan: 9, class: "wrong iso" }, "Last error of ", one.name, ", ", h(Time, { at: one.lastErrorAt }), ": ", one.lastError)),
      ]),
    ),
  );
}

/** @param {{ versions: any[] }} props */
function Versions({ versions }) {
  return h(
    "section",
    { "aria-labelledby": "data-versions" },
    h("h2", { id: "data-versions" }, "Versions of documents"),
    h(
      Table,
      { label: "Versions of documents", head: ["Collection", "Newest", "Documents by version", "To upgrade", "Speed", "Time left"] },
      versions.map((one) =>
        h(
          "tr",
          { key: one.collection },
          h("th", { scope: "row" }, one.collection),
          h("td", { class: "number" }, one.newestVersion),
          h("td", null, one.versions.map((/** @type {any} */ each) => `${each.version}: ${count(each.documents)}`).join(", ") || "–"),
          h("td", { class: "number" }, count(one.remaining)),
          h("td", { class: "number" }, one.ratePerSecond === null ? "–" : `${count(Math.round(one.ratePerSecond))} a second`),
          h("td", { class: "number" }, one.secondsLeft === null ? "–" : duration(one.secondsLeft)),
        ),
      ),
    ),
  );
}

/** What the worker found by itself. */
function Findings() {
  const { data, error, reload } = useAsked("AuditFindings", {});
  const status = data?.auditFindings;
  if (!status) return h(Loading, { error, reload });
  const { lastRound, findings } = status;
  const open = findings.filter((/** @type {any} */ one) => !one.resolvedAt);
  return h(
    "section",
    { "aria-labelledby": "findings" },
    h("h2", { id: "findings" }, "What the audit found"),
    h("p", null, lastRound ? [`${plural(lastRound.products, "product")} recounted in the last round, which ended `, h(Time, { key: "t", at: lastRound.endedAt }), ` after ${duration((Date.parse(lastRound.endedAt) - Date.parse(lastRound.beganAt)) / 1_000)}: ${plural(lastRound.differences, "difference")}.`] : "The worker “audit” has not gone through all products yet."),
    open.length > 0 && h("p", { class: "box warning" }, h("b", null, "Warning: "), `${plural(open.length, "number")} may be wrong. Repair the product, or all with `, h("code", null, "vitrine audit --repair"), "."),
    findings.length > 0 &&
      h(
        Table,
        { label: "Findings", head: ["Product", "Number", "Stored", "Recounted", "First seen", "Last seen", "Resolved"] },
        findings.map((/** @type {any} */ one) =>
          h(
            "tr",
            { key: `${one.productId} ${one.field}` },
            h("th", { scope: "row" }, h("a", { class: "iso", href: `/console/products/${encodeURIComponent(one.productId)}` }, one.product?.name ?? one.productId)),
            h("td", null, one.field),
            h("td", { class: "iso" }, one.stored),
            h("td", { class: "iso" }, one.expected),
            h("td", null, h(Time, { at: one.firstSeenAt })),
            h("td", null, h(Time, { at: one.lastSeenAt })),
            h("td", null, h(Time, { at: one.resolvedAt })),
          ),
        ),
      ),
  );
}

/** Recounts the reviews of all products, a page after the other. */
function Audit() {
  const [state, setState] = useState(/** @type {{ checked: number, pending: number, differences: any[], running: boolean, complete: boolean } | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const stopped = useRef(false);
  useEffect(() => () => void (stopped.current = true), []);
  const run = async () => {
    stopped.current = false;
    setError(null);
    let now = { checked: 0, pending: 0, differences: /** @type {any[]} */ ([]), running: true, complete: false };
    let after = null;
    setState(now);
    try {
      do {
        const { ratingStatsAudit: page } = await fetchAll("Audit", { after });
        after = page.endCursor;
        now = { ...now, checked: now.checked + page.checked, pending: now.pending + page.pending, differences: [...now.differences, ...page.differences] };
        setState(now);
      } while (after && !stopped.current);
      announcement.value = `${plural(now.checked, "product")} recounted, ${plural(now.differences.length, "difference")}`;
    } catch (failed) {
      setError(/** @type {Error} */ (failed));
    }
    setState({ ...now, running: false, complete: !after });
  };
  const repair = async (/** @type {string} */ productId) => {
    try {
      const payload = await change("RepairRatingStats", { productId });
      if (payload.userErrors.length) throw new Error(payload.userErrors[0].message);
      announcement.value = "Repaired";
      setState((last) => last && { ...last, differences: last.differences.filter((one) => one.productId !== productId) });
    } catch (failed) {
      setError(/** @type {Error} */ (failed));
    }
  };
  return h(
    "section",
    { "aria-labelledby": "audit" },
    h("h2", { id: "audit" }, "Audit of ratings"),
    h("p", { class: "hint" }, "Recounts all reviews and compares with the numbers of products. There should be no difference. The worker “audit” does the same all the time; this reads every review at once."),
    h("p", { class: "buttons" }, state?.running ? h("button", { type: "button", class: "button quiet", onClick: () => (stopped.current = true) }, "Stop") : h("button", { type: "button", class: "button quiet", onClick: run }, "Recount now")),
    h(Failure, { error }),
    state && h("p", { class: "audited", role: "status" }, `${plural(state.checked, "product")} recounted${state.running ? " so far" : state.complete ? "" : ", then stopped"}, ${plural(state.differences.length, "difference")}${state.pending ? `, ${count(state.pending)} with reviews that are not counted yet` : ""}.`),
    state &&
      state.differences.length > 0 &&
      h(
        Table,
        { label: "Differences", head: ["Product", "Number", "Stored", "Recounted", "Mend"] },
        state.differences.map((one) =>
          h(
            "tr",
            { key: `${one.productId} ${one.field}` },
            h("th", { scope: "row" }, h("a", { class: "iso", href: `/console/products/${encodeURIComponent(one.productId)}` }, one.product?.name ?? one.productId)),
            h("td", null, one.field),
            h("td", { class: "iso" }, one.stored),
            h("td", { class: "iso" }, one.expected),
            h("td", null, h("button", { type: "button", class: "button quiet small", onClick: () => repair(one.productId) }, "Repair", h("span", { class: "hidden" }, ` ${one.product?.name ?? one.productId}`))),
          ),
        ),
      ),
  );
}

const WINDOWS = ["DAY", "WEEK", "MONTH"];

function Trending() {
  const [span, setSpan] = useState("WEEK");
  const [category, setCategory] = useState("");
  const known = categories.use().some((one) => one.slug === category);
  const { data, error, loading, reload } = useAsked("Trending", { category: known ? category : null, window: span });
  const rows = data?.trending ?? [];
  return h(
    "section",
    { "aria-labelledby": "trending" },
    h("h2", { id: "trending" }, "Trending"),
    h(
      "div",
      { class: "tools" },
      h("label", { for: "window" }, "In a"),
      h("select", { id: "window", value: span, onChange: (/** @type {any} */ event) => setSpan(event.currentTarget.value) }, WINDOWS.map((one) => h("option", { key: one, value: one }, one.toLowerCase()))),
      h("label", { for: "trending-category" }, "Category"),
      h(CategoryField, { id: "trending-category", value: category, onChange: setCategory, invalid: false, describedBy: "trending-hint", required: false }),
      h("span", { class: "hint", id: "trending-hint" }, "All, when empty"),
    ),
    h(Failure, { error, reload }),
    rows.length > 0
      ? h(
          "div",
          { "aria-busy": String(loading) },
          h(
            Table,
            { label: "Trending products", head: ["Rank", "Product", "Score", "Views in 30 days", "Carts", "Sold"] },
            rows.map((/** @type {any} */ { rank, score, product }) =>
              h(
                "tr",
                { key: product.id },
                h("td", { class: "number" }, rank),
                h("th", { scope: "row" }, h("a", { class: "iso", href: `/console/products/${encodeURIComponent(product.id)}` }, product.name)),
                h("td", { class: "number" }, score.toFixed(1)),
                h("td", { class: "number" }, labelled(product.counters.viewsInMonth)),
                h("td", { class: "number" }, labelled(product.counters.cartsInMonth)),
                h("td", { class: "number" }, labelled(product.counters.unitsSoldInMonth)),
              ),
            ),
          ),
          h("p", { class: "hint" }, "Computed ", h(Time, { at: rows[0].asOf }), "."),
        )
      : data && h("p", { class: "hint" }, "Nothing is trending."),
  );
}
