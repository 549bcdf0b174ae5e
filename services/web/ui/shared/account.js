// @ts-check
// Who the visitor is: in development one of some people, otherwise the owner of a token.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useState } from "../vendor/preact/hooks.js";
import { Dialog } from "./dialog.js";
import { first } from "./graphql.js";
import { announcement } from "./navigation.js";
import { actAs, people, person } from "./session.js";

/** Who the visitor is, and the way to be somebody else. */
export function Account() {
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

/** @param {{ done: () => void, id?: string, again?: boolean }} props again: the token is not valid any more */
export function SignIn({ done, id = "token", again = false }) {
  const [token, setToken] = useState("");
  if (person.value && !again) {
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
    h("label", { for: id }, "Token"),
    h("input", { id, type: "password", autocomplete: "off", value: token, onInput: (/** @type {any} */ event) => setToken(event.currentTarget.value) }),
    h("p", { class: "hint" }, "It is kept for this tab only."),
    h("button", { type: "submit", class: "button" }, "Sign in"),
  );
}
