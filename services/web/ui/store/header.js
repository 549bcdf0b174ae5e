// @ts-check
// What every page has: the way home, the search, the departments, who one is.
import { h } from "../vendor/preact/preact.js";
import { Account, Ended } from "../shared/account.js";
import { first } from "../shared/graphql.js";
import { HowAsked } from "../shared/asked.js";
import { SearchField } from "./search.js";
import { categoryPath, comparePath, compared } from "./tile.js";

/** @type {{ slug: string, name: string }[]} */
let departments = first.asked.map((one) => one.answer?.data?.categories).find(Boolean) ?? [];

export function Header() {
  const number = compared.value.length;
  return h(
    "header",
    { class: "top" },
    h(
      "div",
      { class: "bar" },
      h("a", { class: "logo", href: "/" }, "Vitrine"),
      h(SearchField, null),
      h(
        "div",
        { class: "actions" },
        h("a", { class: "action", href: comparePath(compared.value) }, "Compare", number > 0 && h("span", { class: "badge" }, number)),
        h(Account, null),
      ),
    ),
    h(
      "nav",
      { class: "departments", "aria-label": "Departments" },
      h("ul", null, departments.map(({ slug, name }) => h("li", { key: slug }, h("a", { href: categoryPath(slug) }, name)))),
    ),
    h(Ended, null),
  );
}

export function Footer() {
  return h(
    "footer",
    { class: "foot" },
    h(
      "div",
      null,
      h(HowAsked, null),
      h("p", null, "This shop is a client of the public GraphQL API, like any other."),
      first.graphiql && h("p", null, h("a", { href: "/graphiql" }, "Try queries in GraphiQL")),
    ),
  );
}
