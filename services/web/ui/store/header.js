// @ts-check
// What every page has: the way home, the search, the departments, who one is.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { first } from "../shared/graphql.js";
import { actAs, people, person } from "../shared/session.js";
import { HowAsked } from "../shared/asked.js";
import { announcement } from "./navigation.js";
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

/** Says politely what has changed. */
export function Announcer() {
  return h("p", { class: "hidden", role: "status", "aria-live": "polite" }, announcement.value);
}

/** What is shown instead of a page that is not there yet, or fails.
 * @param {{ error: Error | null }} props */
export function Trouble({ error }) {
  if (!error) return h("div", { class: "page waiting", "aria-busy": "true" }, h("p", { class: "hidden" }, "Loading …"));
  return h(
    "div",
    { class: "page narrow", role: "alert" },
    h("h1", null, "This page cannot be shown"),
    h("p", { class: "iso" }, error.message),
    h("p", null, h("button", { class: "button", type: "button", onClick: () => location.reload() }, "Try again")),
  );
}

/** @param {{ open: boolean, onClose: () => void, label: string, class?: string, children?: any }} props */
export function Dialog({ open, onClose, label, class: name = "", children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const { current } = dialog;
    if (open && current && !current.open) current.showModal();
    if (!open && current?.open) current.close();
  }, [open]);
  // A click beside the dialog is one on its backdrop.
  const beside = (/** @type {any} */ event) => event.target === dialog.current && onClose();
  return h(
    "dialog",
    { ref: dialog, class: `dialog ${name}`, "aria-label": label, onClose, onClick: beside },
    open &&
      h(
        "div",
        { class: "inside" },
        h("button", { type: "button", class: "close", "aria-label": "Close", onClick: onClose }, "×"),
        children,
      ),
  );
}

function Account() {
  const [open, setOpen] = useState(false);
  const who = person.value;
  const offered = first.actAs ? "Act as …" : "Sign in";
  return h(
    "span",
    { class: "account" },
    h("button", { type: "button", class: "action", onClick: () => setOpen(true) }, who ? who.label.split(",")[0] : offered),
    h(
      Dialog,
      { open, onClose: () => setOpen(false), label: first.actAs ? "Act as" : "Sign in" },
      open && (first.actAs ? h(ActAs, { done: () => setOpen(false) }) : h(SignIn, { done: () => setOpen(false) })),
    ),
  );
}

/** @param {{ done: () => void }} props */
function ActAs({ done }) {
  const [offered, setOffered] = useState(/** @type {import("../shared/session.js").Person[] | null} */ (null));
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    people().then(setOffered, (error) => setWrong(error.message));
  }, []);
  const become = (/** @type {import("../shared/session.js").Person | null} */ one) => {
    actAs(one);
    announcement.value = one ? `You act as ${one.label}` : "You are a stranger";
    done();
  };
  return h(
    "div",
    { class: "stack" },
    h("h2", null, "Act as"),
    h("p", null, "For development only. The choice lasts for this tab."),
    wrong && h("p", { role: "alert", class: "wrong" }, wrong),
    (offered ?? []).map((one) =>
      h(
        "button",
        { key: one.subject, type: "button", class: "button quiet", "aria-pressed": String(person.value?.subject === one.subject), onClick: () => become(one) },
        one.label,
      ),
    ),
    h("button", { type: "button", class: "button quiet", "aria-pressed": String(!person.value), onClick: () => become(null) }, "A stranger"),
  );
}

/** @param {{ done: () => void }} props */
function SignIn({ done }) {
  const [token, setToken] = useState("");
  if (person.value) {
    const leave = () => {
      actAs(null);
      done();
    };
    return h("div", { class: "stack" }, h("h2", null, "Signed in"), h("button", { type: "button", class: "button", onClick: leave }, "Sign out"));
  }
  const enter = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (token.trim()) actAs({ label: "Signed in", subject: "", token: token.trim() });
    done();
  };
  return h(
    "form",
    { class: "stack", onSubmit: enter },
    h("h2", null, "Sign in"),
    h("label", { for: "token" }, "Token"),
    h("input", { id: "token", type: "password", autocomplete: "off", value: token, onInput: (/** @type {any} */ event) => setToken(event.currentTarget.value) }),
    h("p", { class: "hint" }, "It is kept for this tab only."),
    h("button", { type: "submit", class: "button" }, "Sign in"),
  );
}
