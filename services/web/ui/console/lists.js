// @ts-check
// What many forms choose from: categories, suppliers, units, spec keys. Loaded when first needed.
import { useEffect } from "../vendor/preact/hooks.js";
import { signal } from "../vendor/preact/signals.js";
import { fetchAll, fetchPages } from "./data.js";

/** @typedef {{ id: string, slug: string, name: string, path: string[], depth: number }} CategoryRow */

/** @template T
 * @param {(arrived: (rows: T[]) => void) => Promise<T[]>} load */
function shared(load) {
  const rows = signal(/** @type {T[] | null} */ (null));
  /** @type {Promise<void> | null} */
  let asking = null;
  const start = () => {
    asking ??= load((some) => (rows.value = [...some])).then(
      (all) => {
        rows.value = all;
      },
      () => {
        // A form works without suggestions; the next one asks again.
        asking = null;
      },
    );
    return asking;
  };
  return {
    /** The rows that are known so far. */
    use() {
      useEffect(() => void start(), []);
      return rows.value ?? [];
    },
    /** Loads them again. */
    refresh() {
      asking = null;
      return start();
    },
  };
}

/** @param {any[]} branches
 * @param {string[]} above
 * @returns {CategoryRow[]} */
const flat = (branches, above) =>
  branches.flatMap(({ id, slug, name, children = [] }) => [{ id, slug, name, path: [...above, name], depth: above.length }, ...flat(children, [...above, name])]);

/** @type {ReturnType<typeof shared<CategoryRow>>} */
export const categories = shared(async () => flat((await fetchAll("CategoryTree", {})).categories, []));
export const units = shared(async () => (await fetchAll("AllUnits", {})).units);
export const dictionary = shared((arrived) => fetchPages("SpecKeyNames", "specKeys", arrived));
