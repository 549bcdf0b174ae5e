// @ts-check
// Starts the storefront: draws the page that the service has written once more, and then follows the
// address.
import { h, render } from "../vendor/preact/preact.js";
import { effect } from "../vendor/preact/signals.js";
import { useEffect } from "../vendor/preact/hooks.js";
import * as operations from "../operations.js";
import { Announcer, Trouble } from "../shared/dialog.js";
import { knowOperations } from "../shared/graphql.js";
import { drawPages, place } from "../shared/navigation.js";
import { become, ended } from "../shared/session.js";
import { Compare } from "./compare.js";
import { Footer, Header } from "./header.js";
import { Home, homeTitle } from "./home.js";
import { List } from "./list.js";
import { Product } from "./product.js";

knowOperations(operations);
drawPages(/^\/($|c\/|p\/|search$|compare$)/);
// Who is not signed in any more can go on reading.
effect(() => {
  if (ended.value) become(null);
});

/** @param {string} path */
function pageOf(path) {
  const [, kind, slug = ""] = path.split("/").map(decodeURIComponent);
  if (path === "/") return h(Home, { key: path });
  if (kind === "c") return h(List, { key: path, category: slug });
  if (kind === "search") return h(List, { key: path, category: null });
  if (kind === "p") return h(Product, { key: path, slug });
  if (kind === "compare") return h(Compare, { key: path });
  return h(Trouble, { error: new Error("There is no such page.") });
}

function Shop() {
  const { path } = place.value;
  useEffect(() => {
    if (path === "/") document.title = homeTitle;
  }, [path]);
  return [
    h("a", { class: "skip", href: "#main" }, "Skip to content"),
    h(Header, null),
    h("main", { id: "main", tabIndex: -1 }, pageOf(path)),
    h(Footer, null),
    h(Announcer, null),
  ];
}

const root = document.getElementById("app");
// A page that says that something is missing is not drawn again.
if (root && document.querySelector("main > .narrow") === null) {
  render(h(Shop, null), root);
  document.documentElement.dataset.ready = "true";
}
