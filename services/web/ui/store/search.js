// @ts-check
// The search field, with suggestions while typing: texts, the department they are in, products.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { ask } from "../shared/graphql.js";
import { money, plural } from "../shared/format.js";
import { announcement, navigate, place } from "../shared/navigation.js";
import { fallBack, picture, productPath } from "./tile.js";

const DEBOUNCE = 120;

/** @typedef {{ id: string, href: string, text: string, scope?: string, product?: any }} Option */

/** @param {string} text */
const searchPath = (text) => `/search?${new URLSearchParams({ q: text })}`;

/** @param {any} data
 * @param {string} typed
 * @returns {Option[]} */
function optionsOf(data, typed) {
  /** @type {Option[]} */
  const options = [];
  const add = (/** @type {Omit<Option, "id">} */ option) => options.push({ ...option, id: `suggestion-${options.length}` });
  const corrected = data.products?.search?.didYouMean;
  if (corrected) add({ href: searchPath(corrected), text: corrected });
  const products = data.products?.nodes ?? [];
  const scope = products[0]?.category;
  (data.searchSuggestions ?? []).forEach((/** @type {string} */ text, /** @type {number} */ at) => {
    add({ href: searchPath(text), text });
    if (at === 0 && scope) {
      const query = new URLSearchParams({ q: text, category: scope.slug });
      add({ href: `/search?${query}`, text, scope: scope.name });
    }
  });
  for (const product of products) add({ href: productPath(product.slug), text: product.name, product });
  if (!options.length && typed) announcement.value = "No suggestions";
  return options;
}

export function SearchField() {
  const { path, query } = place.value;
  const searched = path === "/search" || path.startsWith("/c/") ? (query.get("q") ?? "") : "";
  const [text, setText] = useState(searched);
  const [options, setOptions] = useState(/** @type {Option[]} */ ([]));
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const typed = useRef(searched);
  const stale = useRef(/** @type {AbortController | null} */ (null));
  const pause = useRef(0);
  const leaving = useRef(0);

  useEffect(() => {
    typed.current = searched;
    setText(searched);
    close();
  }, [path, searched]);

  const close = () => {
    stale.current?.abort();
    clearTimeout(pause.current);
    setOpen(false);
    setAt(-1);
  };
  const suggest = (/** @type {string} */ prefix) => {
    stale.current?.abort();
    clearTimeout(pause.current);
    if (prefix.trim().length < 2) {
      setOptions([]);
      setOpen(false);
      return;
    }
    pause.current = setTimeout(async () => {
      const mine = (stale.current = new AbortController());
      try {
        const found = optionsOf(await ask("Suggest", { text: prefix }, { signal: mine.signal }), prefix);
        if (mine.signal.aborted) return;
        setOptions(found);
        setAt(-1);
        setOpen(found.length > 0);
        if (found.length) announcement.value = plural(found.length, "suggestion");
      } catch {
        // Suggestions are a help only: without them the search still works.
      }
    }, DEBOUNCE);
  };
  const input = (/** @type {any} */ event) => {
    typed.current = event.currentTarget.value;
    setText(typed.current);
    suggest(typed.current);
  };
  const move = (/** @type {number} */ by) => {
    if (!open) {
      if (options.length) setOpen(true);
      return;
    }
    // One place more than there are options: the field itself.
    const places = options.length + 1;
    const next = ((at + 1 + by + places) % places) - 1;
    setAt(next);
    setText(next < 0 || options[next].product ? typed.current : options[next].text);
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Escape" && open) {
      setText(typed.current);
      close();
    } else return;
    event.preventDefault();
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const chosen = open ? options[at] : undefined;
    close();
    if (chosen) navigate(chosen.href);
    else if (text.trim()) navigate(searchPath(text.trim()));
  };
  return h(
    "form",
    { class: "search", role: "search", action: "/search", onSubmit: submit },
    h("label", { class: "hidden", for: "q" }, "Search products"),
    h("input", {
      id: "q",
      name: "q",
      type: "search",
      autocomplete: "off",
      maxLength: 200,
      placeholder: "Search products",
      value: text,
      role: "combobox",
      "aria-expanded": String(open),
      "aria-controls": "suggestions",
      "aria-autocomplete": "list",
      "aria-activedescendant": open && at >= 0 ? options[at].id : undefined,
      onInput: input,
      onKeyDown: key,
      onFocus: () => clearTimeout(leaving.current),
      onBlur: () => (leaving.current = setTimeout(close, 150)),
    }),
    h("button", { class: "button", type: "submit" }, "Search"),
    h(
      "ul",
      { id: "suggestions", class: "suggestions", role: "listbox", "aria-label": "Suggestions", hidden: !open },
      open && options.map((option, index) => h(Suggestion, { key: option.id, option, typed: typed.current, chosen: index === at, onChoose: close })),
    ),
  );
}

/** @param {{ option: Option, typed: string, chosen: boolean, onChoose: () => void }} props */
function Suggestion({ option, typed, chosen, onChoose }) {
  const { text, scope, product } = option;
  const choose = (/** @type {Event} */ event) => {
    event.preventDefault();
    onChoose();
    navigate(option.href);
  };
  // What is added to the typed text matters most.
  const known = text.toLowerCase().startsWith(typed.trim().toLowerCase()) ? typed.trim().length : 0;
  return h(
    "li",
    { id: option.id, role: "option", "aria-selected": String(chosen), class: product ? "of-product" : "", onMouseDown: choose },
    product
      ? [
          h("img", { key: "i", src: picture(product), alt: "", width: 40, height: 40, onError: fallBack(product) }),
          h("span", { key: "n", class: "iso" }, text),
          h("span", { key: "p", class: "price" }, money(product.price)),
        ]
      : [
          h("span", { key: "t", class: "iso" }, text.slice(0, known), h("b", null, text.slice(known))),
          scope && h("span", { key: "s", class: "scope" }, ` in ${scope}`),
        ],
  );
}
