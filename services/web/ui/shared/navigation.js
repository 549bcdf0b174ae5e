// @ts-check
// The address of the page is its state. Going back returns to the same page, at the same place, with what
// it had loaded.
import { signal, batch } from "../vendor/preact/signals.js";
import { useEffect, useRef, useState } from "../vendor/preact/hooks.js";
import { ask, atOnce, forgetAsked } from "./graphql.js";
import { whose } from "./session.js";

/** @typedef {{ path: string, query: URLSearchParams, key: string }} Place */

/** What pages have loaded, by the key of their entry in the history.
 * @type {Map<string, Record<string, any>>} */
const memory = new Map();
const MAX_REMEMBERED = 20;

history.scrollRestoration = "manual";
// An entry without a key is always that of a link within a page.
if (!history.state?.key) history.replaceState({ key: "first" }, "");
/** @returns {Place} */
const here = () => ({
  path: location.pathname,
  query: new URLSearchParams(location.search),
  key: history.state?.key ?? "first",
});
export const place = signal(here());
/** What a screen reader says next. */
export const announcement = signal("");

/** What the page of this entry has loaded.
 * @param {string} key */
export function remembered(key) {
  let found = memory.get(key);
  if (!found) {
    found = {};
    memory.set(key, found);
    if (memory.size > MAX_REMEMBERED) memory.delete(/** @type {string} */ (memory.keys().next().value));
  }
  return found;
}

const keepPlace = () => {
  remembered(place.value.key).scroll = scrollY;
};

/** The paths of the pages that the scripts of this page draw.
 * @type {RegExp} */
let drawn = /^$/;

/** Says which pages these scripts draw; links to others leave the page.
 * @param {RegExp} paths */
export function drawPages(paths) {
  drawn = paths;
}

/** @param {URL} url */
const isPage = (url) => url.origin === location.origin && drawn.test(url.pathname);

/** Goes to another page, or to the same page with another state.
 * @param {string} address
 * @param {{ stay?: boolean, replace?: boolean }} [options] stay: the place on the page does not change */
export function navigate(address, { stay = false, replace = false } = {}) {
  const url = new URL(address, location.href);
  if (!isPage(url)) {
    location.assign(url);
    return;
  }
  keepPlace();
  const key = `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`;
  history[replace ? "replaceState" : "pushState"]({ key }, "", url);
  batch(() => {
    if (!stay) forgetAsked();
    place.value = here();
  });
  if (stay) remembered(key).scroll = scrollY;
  else arrive(url.hash);
}

/** Shows the start of a new page, and moves the focus there.
 * @param {string} hash */
function arrive(hash) {
  scrollTo(0, 0);
  const target = hash && document.getElementById(hash.slice(1));
  if (target) target.scrollIntoView();
  else document.getElementById("main")?.focus({ preventScroll: true });
}

addEventListener("popstate", () => {
  const { path, query, key } = place.value;
  const samePage = location.pathname === path && String(new URLSearchParams(location.search)) === String(query);
  if (samePage && (history.state?.key ?? key) === key) {
    history.replaceState({ key }, "");
    return;
  }
  const old = remembered(key);
  old.scroll = old.leaving ?? scrollY;
  batch(() => {
    forgetAsked();
    place.value = here();
  });
});
addEventListener("scroll", () => (remembered(place.value.key).leaving = scrollY), { passive: true });

/** Restores the place on a page that has what it had.
 * @param {boolean} ready */
export function useRestoredPlace(ready) {
  const { key } = place.value;
  const restored = useRef("");
  useEffect(() => {
    const { scroll } = remembered(key);
    if (!ready || restored.current === key) return;
    restored.current = key;
    if (scroll) scrollTo(0, scroll);
  }, [ready, key]);
}

addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = /** @type {Element} */ (event.target).closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  const within = url.pathname === location.pathname && url.search === location.search;
  if (!isPage(url) || (within && url.hash)) return;
  event.preventDefault();
  navigate(url.href);
});

/** Asks for what a page shows. What came with the page, or was loaded before, is there at once; while
 * something new is loaded, the last answer stays.
 * @param {string} operation
 * @param {any} variables
 * @returns {{ data: any, error: Error | null, loading: boolean }} */
export function useAnswer(operation, variables) {
  const wanted = JSON.stringify(variables);
  const { key } = place.value;
  const start = () => {
    const kept = remembered(key)[operation];
    const known = kept?.wanted === wanted ? { data: kept.data, own: true } : atOnce(operation, variables);
    if (known?.own) remembered(key)[operation] = { wanted, data: known.data };
    return { data: known?.data, wanted: known?.own ? wanted : "", error: /** @type {Error | null} */ (null) };
  };
  const [state, setState] = useState(start);
  const token = whose.value;
  const asker = useRef(token);
  useEffect(() => {
    if (state.wanted === wanted && asker.current === token) return undefined;
    asker.current = token;
    const kept = start();
    if (kept.wanted) {
      setState(kept);
      return undefined;
    }
    const stale = new AbortController();
    ask(operation, variables, { signal: stale.signal })
      .then((data) => {
        remembered(key)[operation] = { wanted, data };
        setState({ data, wanted, error: null });
      })
      .catch((error) => {
        // Who is not signed in any more is shown what strangers see.
        const refused = error.code === "UNAUTHENTICATED" && token !== whose.peek();
        if (!stale.signal.aborted && !refused) setState((last) => ({ ...last, wanted, error }));
      });
    return () => stale.abort();
  }, [wanted, token, key]);
  return { data: state.data, error: state.error, loading: state.wanted !== wanted };
}
