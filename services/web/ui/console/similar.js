// @ts-check
// Spec keys that may mean the same: spelled alike, or with other separators, plurals or endings.

/** @typedef {{ key: string, type: string, dimension: string | null, aliases: string[] }} Key */

/** Words that are written in two ways.
 * @type {[RegExp, string][]} */
const SPELLINGS = [
  [/colour/g, "color"],
  [/metre/g, "meter"],
  [/litre/g, "liter"],
  [/aluminium/g, "aluminum"],
  [/grey/g, "gray"],
];

/** The words of a key when spelling does not matter, sorted.
 * @param {string} key */
function words(key) {
  const spelled = SPELLINGS.reduce((text, [from, to]) => text.replace(from, to), key);
  return spelled.split("_").map((word) => (word.length > 3 ? word.replace(/s$/, "") : word)).sort();
}

/** The fewest letters of a word in which one of them may be a mistake: `pole` and `sole` are two words. */
const MIN_MISTAKEN = 6;

/** How many letters must change, up to a number.
 * @param {string} one
 * @param {string} other
 * @param {number} most */
export function distance(one, other, most) {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + Number(one[i - 1] !== other[j - 1]));
    }
    if (Math.min(...next) > most) return most + 1;
    row = next;
  }
  return row[other.length];
}

/** Whether two keys may mean the same.
 * @param {string} one
 * @param {string} other */
export function alike(one, other) {
  const [a, b] = [words(one), words(other)];
  if (a.join("") === b.join("")) return true;
  // A digit makes another key: `port_1` and `port_2`.
  if (one.replace(/\D/g, "") !== other.replace(/\D/g, "")) return false;
  // One word of each may have a mistake; words that both have are the same.
  const rest = a.filter((word) => !b.includes(word));
  const others = b.filter((word) => !a.includes(word));
  const [written, meant] = [rest.join(""), others.join("")];
  return rest.length < 2 && others.length < 2 && Math.min(written.length, meant.length) >= MIN_MISTAKEN && distance(written, meant, 1) <= 1;
}

/** The keys that a new one may have been meant to be.
 * @template {Key} T
 * @param {string} key
 * @param {T[]} dictionary */
export const similarTo = (key, dictionary) => dictionary.filter((one) => one.key !== key && [one.key, ...one.aliases].some((name) => alike(name, key)));

/** Pairs of keys that may mean the same and hold the same.
 * @template {Key} T
 * @param {T[]} dictionary
 * @returns {[T, T][]} */
export function pairs(dictionary) {
  /** @type {[T, T][]} */
  const found = [];
  dictionary.forEach((one, at) => {
    for (const other of dictionary.slice(at + 1)) {
      if (one.type === other.type && one.dimension === other.dimension && alike(one.key, other.key)) found.push([one, other]);
    }
  });
  return found;
}
