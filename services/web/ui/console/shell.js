// @ts-check
// What every page of the console has: the sections, who works here, how the page was asked.
import { h } from "../vendor/preact/preact.js";
import { Account, Ended } from "../shared/account.js";
import { HowAsked } from "../shared/asked.js";
import { first } from "../shared/graphql.js";
import { place } from "../shared/navigation.js";
import { Entrance, may, rolesText, trouble, viewer } from "./viewer.js";

/** @typedef {{ path: string, name: string, roles: string[], about: string }} Section */

const MODERATORS = ["MODERATOR", "ADMIN"];
const ADMINS = ["ADMIN"];

/** @type {Section[]} */
export const SECTIONS = [
  { path: "moderation", name: "Moderation", roles: MODERATORS, about: "Reviews that wait for a decision, with reports and earlier versions." },
  { path: "fairness", name: "Fairness", roles: MODERATORS, about: "Whether low and high ratings are treated alike." },
  { path: "products", name: "Products", roles: ADMINS, about: "Find, edit and change many at once." },
  { path: "specs", name: "Specs", roles: ADMINS, about: "The dictionary: coverage, similar keys, merging." },
  { path: "categories", name: "Categories", roles: ADMINS, about: "The tree, and what its products are rated by." },
  { path: "suppliers", name: "Suppliers", roles: ADMINS, about: "Names and countries, and products that are behind." },
  { path: "units", name: "Units", roles: ADMINS, about: "Units of measure and their factors." },
  { path: "imports", name: "Imports", roles: ADMINS, about: "Runs of imports, how far they are, and what they rejected." },
  { path: "operations", name: "Operations", roles: ADMINS, about: "Workers, versions of documents, audit, trending, data of authors." },
];

/** The section that a page belongs to.
 * @param {string} name the first part of its address */
export const sectionOf = (name) => SECTIONS.find((one) => one.path === (name === "reviews" ? "moderation" : name));

export function Header() {
  const current = sectionOf(place.value.path.split("/")[2] ?? "");
  return h(
    "header",
    { class: "top" },
    h("div", { class: "bar" }, h("a", { class: "logo", href: "/console" }, "Vitrine ", h("span", null, "console")), h("div", { class: "actions" }, first.storefront && h("a", { class: "action", href: "/" }, "Shop"), h(Account, null))),
    h(
      "nav",
      { class: "departments", "aria-label": "Sections" },
      h("ul", null, SECTIONS.map((section) => h("li", { key: section.path }, h("a", { href: `/console/${section.path}`, "aria-current": section === current ? "page" : undefined }, section.name)))),
    ),
    h(Ended, null),
  );
}

export function Footer() {
  return h(
    "footer",
    { class: "foot" },
    h("div", null, h(HowAsked, null), h("p", null, "The console is a client of the public GraphQL API, like any other."), first.graphiql && h("p", null, h("a", { href: "/graphiql" }, "Try queries in GraphiQL"))),
  );
}

/** Who one is, and what that opens. */
export function Home() {
  if (trouble.value || viewer.value === null) return h(Entrance, { title: "Console", text: trouble.value || "Sign in as a moderator or an admin." });
  if (!viewer.value) return h("div", { class: "page waiting", "aria-busy": "true" }, h("p", { class: "hidden" }, "Loading …"));
  const { subject, roles } = viewer.value;
  return h(
    "div",
    { class: "page" },
    h("h1", null, "Console"),
    h("p", { class: "who" }, "You are ", h("b", { class: "iso" }, subject), roles.length ? [", with the role ", h("b", { key: "r" }, roles.map((role) => role.toLowerCase()).join(" and "))] : ", without a role", "."),
    h(
      "ul",
      { class: "sections" },
      SECTIONS.map((section) =>
        h(
          "li",
          { key: section.path, class: "box" },
          h("h2", null, may(section.roles) ? h("a", { href: `/console/${section.path}` }, section.name) : section.name),
          h("p", null, section.about),
          !may(section.roles) && h("p", { class: "hint" }, `Needs the role ${rolesText(section.roles)}.`),
        ),
      ),
    ),
  );
}
