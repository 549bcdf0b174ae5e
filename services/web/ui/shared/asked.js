// @ts-check
// "How this page was asked": the operations, what they cost, and a way to try them.
import { h } from "../vendor/preact/preact.js";
import { asked, first, textOf } from "./graphql.js";
import { count, plural } from "./format.js";

export function HowAsked() {
  const all = asked.value;
  if (all.length === 0) return null;
  const cost = all.reduce((sum, one) => sum + (one.answer?.extensions?.cost?.requested ?? 0), 0);
  return h(
    "details",
    { class: "asked" },
    h("summary", null, "How this page was asked ", h("span", null, `${plural(all.length, "operation")}, ${count(cost)} units`)),
    h("ol", null, all.map((one, index) => h(Operation, { key: index, one }))),
  );
}

/** @param {{ one: import("./graphql.js").Asked }} props */
function Operation({ one }) {
  const { cost, work } = one.answer?.extensions ?? {};
  const text = textOf(one.operation);
  const variables = JSON.stringify(one.variables, null, 2);
  const facts = [
    `${one.millis} ms${one.first ? " in the service, sent with the page" : ""}`,
    cost && `${count(cost.requested)} units of ${count(cost.limit)}`,
    work ? `${plural(work.commands, "database command")}, ${plural(work.documents, "document")}` : "database commands are told to admins",
    one.answer?.errors && `error: ${one.answer.errors[0].message}`,
  ];
  const parameters = new URLSearchParams({ query: text, variables });
  return h(
    "li",
    null,
    h("h3", null, one.operation),
    h("p", null, facts.filter(Boolean).join(" · ")),
    first.graphiql && h("p", null, h("a", { href: `/graphiql#${parameters}`, target: "_blank", rel: "noopener" }, "Open in GraphiQL")),
    h("details", null, h("summary", null, "Operation"), h("pre", { tabIndex: 0 }, text)),
    h("details", null, h("summary", null, "Variables"), h("pre", { tabIndex: 0 }, variables)),
  );
}
