// @ts-check
// Starts the console. The address says which page it shows.
import { h, render } from "../vendor/preact/preact.js";
import "../vendor/preact/signals.js";
import { useEffect } from "../vendor/preact/hooks.js";
import * as ofStore from "../operations.js";
import { Announcer } from "../shared/dialog.js";
import { knowOperations } from "../shared/graphql.js";
import { drawPages, place } from "../shared/navigation.js";
import * as operations from "./operations.js";
import { Categories } from "./categories.js";
import { Fairness } from "./fairness.js";
import { ImportRun, Imports } from "./imports.js";
import { Moderation, OneReview } from "./moderation.js";
import { NewImport } from "./new-import.js";
import { NewProduct, Product } from "./product.js";
import { Products } from "./products.js";
import { Footer, Header, Home, sectionOf } from "./shell.js";
import { SpecKey } from "./spec.js";
import { SpecKeys } from "./specs.js";
import { Supplier, Suppliers } from "./suppliers.js";
import { System } from "./system.js";
import { Units } from "./units.js";
import { Gate, followViewer } from "./viewer.js";

// Lists use the facets and units of the storefront too.
knowOperations(ofStore);
knowOperations(operations);
drawPages(/^\/console($|\/)/);

/** @type {Record<string, (id: string) => any>} */
const PAGES = {
  moderation: () => h(Moderation, null),
  reviews: (id) => h(OneReview, { key: id, id }),
  fairness: () => h(Fairness, null),
  products: (id) => (id === "new" ? h(NewProduct, null) : id ? h(Product, { key: id, id }) : h(Products, null)),
  specs: (id) => (id ? h(SpecKey, { key: id, name: id }) : h(SpecKeys, null)),
  categories: () => h(Categories, null),
  suppliers: (id) => (id ? h(Supplier, { key: id, id }) : h(Suppliers, null)),
  units: () => h(Units, null),
  imports: (id) => (id === "new" ? h(NewImport, null) : id ? h(ImportRun, { key: id, id }) : h(Imports, null)),
  operations: () => h(System, null),
};

function Console() {
  const { path } = place.value;
  const [, , name = "", id = ""] = path.split("/").map(decodeURIComponent);
  const section = sectionOf(name);
  useEffect(() => {
    document.title = `${section?.name ?? "Console"} – Vitrine console`;
  }, [path]);
  const page = PAGES[name] && section ? h(Gate, { key: path, name: section.name, roles: section.roles }, PAGES[name](id)) : h(Home, null);
  return [
    h("a", { key: "skip", class: "skip", href: "#main" }, "Skip to content"),
    h(Header, { key: "top" }),
    h("main", { key: "main", id: "main", tabIndex: -1 }, page),
    h(Footer, { key: "foot" }),
    h(Announcer, { key: "said" }),
  ];
}

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  followViewer();
  render(h(Console, null), root);
  document.documentElement.dataset.ready = "true";
}
