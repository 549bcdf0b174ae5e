// @ts-check
// The page to which the identity provider sends visitors back: it goes on to where they were, or says why not.
import { h, render } from "../vendor/preact/preact.js";
import { LoginError, finish, provider, start } from "./login.js";
import { first } from "./first.js";

const home = first.storefront ? "/" : "/console";
const root = /** @type {HTMLElement} */ (document.getElementById("main"));

/** @param {any} error */
function show(error) {
  const known = error instanceof LoginError;
  // The answer that stands in the address can still be read once it is known where to send it.
  const again = () => (provider?.ready ? start(home).catch(show) : location.reload());
  document.title = "Not signed in – Vitrine";
  root.replaceChildren();
  render(
    [
      h("h1", null, "You are not signed in"),
      h("p", { role: "alert", class: "wrong" }, known ? error.message : "Something went wrong on this page."),
      known && error.detail && h("p", { class: "iso" }, `The identity provider says: ${error.detail}`),
      h("p", { class: "buttons" }, h("button", { type: "button", class: "button", onClick: again }, "Try again"), h("a", { class: "button quiet", href: home }, first.storefront ? "To the shop" : "To the console")),
    ],
    root,
  );
  document.documentElement.dataset.ready = "true";
}

finish().then((address) => location.replace(address), show);
