// @ts-check
// Who the visitor is: in development one of some people, otherwise the owner of a token.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { Dialog } from "./dialog.js";
import { first } from "./graphql.js";
import { announcement } from "./navigation.js";
import { actAs, ended, people, person } from "./session.js";

const provider = first.login;
// Loaded only by those who sign in at an identity provider.
const login = () => import("./login.js");

/** Who the visitor is, and the way to be somebody else. */
export function Account() {
  const [open, setOpen] = useState(false);
  const who = person.value;
  const offered = first.actAs ? "Act as …" : "Sign in";
  return h(
    "span",
    { class: "account" },
    h("button", { type: "button", class: "action", onClick: () => setOpen(true) }, who ? (who.login ? who.label : who.label.split(",")[0]) : offered),
    h(
      Dialog,
      { open, onClose: () => setOpen(false), label: first.actAs ? "Act as" : "Sign in" },
      open && (first.actAs ? h(ActAs, { done: () => setOpen(false) }) : h(SignIn, { done: () => setOpen(false) })),
    ),
  );
}

/** @param {{ done: () => void }} props */
export function ActAs({ done }) {
  const [offered, setOffered] = useState(/** @type {import("./session.js").Person[] | null} */ (null));
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    people().then(setOffered, (error) => setWrong(error.message));
  }, []);
  const become = (/** @type {import("./session.js").Person | null} */ one) => {
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

/** @param {{ done: () => void, id?: string }} props */
export function SignIn({ done, id = "token" }) {
  if (person.value && !ended.value) {
    const out = () => {
      if (person.value?.login) login().then(({ leave }) => leave());
      else actAs(null);
      done();
    };
    return h("div", { class: "stack" }, h("h2", null, "Signed in"), h("button", { type: "button", class: "button", onClick: out }, "Sign out"));
  }
  return h(
    "div",
    { class: "stack" },
    h("h2", null, "Sign in"),
    provider ? [h(Provider, { key: "provider" }), h("details", { key: "token" }, h("summary", null, "Use a token instead"), h(TokenForm, { done, id }))] : h(TokenForm, { done, id }),
  );
}

/** The way to the identity provider. */
function Provider() {
  const [wrong, setWrong] = useState("");
  if (!provider?.ready) {
    return h("p", { role: "alert" }, "The identity provider of this shop cannot be reached at the moment. ", h("button", { type: "button", class: "link", onClick: () => location.reload() }, "Try again"));
  }
  const go = () => login().then(({ start }) => start()).catch((/** @type {Error} */ error) => setWrong(error.message));
  return [h("button", { type: "button", class: "button provider", onClick: go }, "Continue to sign in"), wrong && h("p", { role: "alert", class: "wrong" }, wrong)];
}

/** @param {{ done: () => void, id: string }} props */
function TokenForm({ done, id }) {
  const [token, setToken] = useState("");
  const enter = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (token.trim()) actAs({ label: "Signed in", subject: "", token: token.trim() });
    done();
  };
  return h(
    "form",
    { class: "stack", onSubmit: enter },
    h("label", { for: id }, "Token"),
    h("input", { id, type: "password", autocomplete: "off", value: token, onInput: (/** @type {any} */ event) => setToken(event.currentTarget.value) }),
    h("p", { class: "hint" }, "It is kept for this tab only."),
    h("button", { type: "submit", class: "button" }, "Sign in"),
  );
}

/** Says why one is not signed in any more, over a page that keeps what was written. */
export function Ended() {
  const [open, setOpen] = useState(false);
  if (!ended.value) return null;
  const done = () => setOpen(false);
  return h(
    "div",
    { class: "expired", role: "alert" },
    h("p", null, `${ended.value} What you have written is kept. `, h("button", { type: "button", class: "link", onClick: () => setOpen(true) }, "Sign in again"), !person.value && [" ", h("button", { key: "close", type: "button", class: "link", onClick: () => (ended.value = "") }, "Close")]),
    h(Dialog, { open, onClose: done, label: "Sign in" }, open && (first.actAs ? h(ActAs, { done }) : h(SignIn, { done }))),
  );
}
