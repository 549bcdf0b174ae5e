// @ts-check
// The address of a list, and the variables that it stands for. `src/address.rs` does the same and
// describes the parameters.

export const PAGE_SIZE = 24;
export const FACET_VALUES = 8;

/** @type {Record<string, string>} */
const SORTS = {
  price: "PRICE",
  rating: "RATING",
  newest: "NEWEST",
  name: "NAME",
  "best-selling": "BEST_SELLING",
  trending: "TRENDING",
  popularity: "POPULARITY",
};

/** @param {string} text */
const number = (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined);

/** The ends of `10..50` or `10..<50`, and whether the upper one is left out. Ends that are the wrong way round are
 * exchanged: a person has typed them.
 * @param {string} text
 * @returns {[string, string, boolean] | undefined} */
function ends(text) {
  const [low, end] = text.split("..");
  if (end === undefined) return undefined;
  const high = end.replace("<", "");
  const [one, other] = [number(low), number(high)];
  const reversed = one !== undefined && other !== undefined ? one > other : one === other && high !== "" && low > high;
  return reversed ? [high, low, false] : [low, high, end.startsWith("<")];
}

/** @param {string} text */
function price(text) {
  const [low, high] = ends(text) ?? ["", ""];
  const range = {};
  if (number(low) !== undefined) Object.assign(range, { gte: low });
  if (number(high) !== undefined) Object.assign(range, { lte: high });
  return Object.keys(range).length ? range : undefined;
}

/** @param {string} text */
export function numbers(text) {
  const [range, unit] = text.split("~");
  /** @type {Record<string, any>} */
  const test = {};
  if (range.startsWith("=")) {
    test.eq = number(range.slice(1));
  } else {
    const [low, high, leftOut] = ends(range) ?? ["", "", false];
    test.gte = number(low);
    test[leftOut ? "lt" : "lte"] = number(high);
  }
  for (const name of Object.keys(test)) if (test[name] === undefined) delete test[name];
  if (!Object.keys(test).length) return undefined;
  return unit === undefined ? test : { ...test, unit };
}

/** @param {string} text */
function dates(text) {
  const [low, high, leftOut] = ends(text) ?? [text, "", false];
  /** @type {Record<string, string>} */
  const range = {};
  if (low) range.gte = low;
  if (high) range[leftOut ? "lt" : "lte"] = high;
  return range;
}

/** @param {URLSearchParams} query */
function specs(query) {
  const found = [];
  for (const name of new Set(query.keys())) {
    const [kind, ...rest] = name.split(".");
    const [key, qualifier] = rest.join(".").split("@");
    const value = query.get(name) ?? "";
    /** @type {Record<string, any>} */
    const spec = { key };
    if (kind === "t") spec.text = { in: query.getAll(name) };
    else if (kind === "n") spec.number = numbers(value);
    else if (kind === "b") spec.boolean = value === "yes";
    else if (kind === "d") spec.date = dates(value);
    else continue;
    if (kind === "n" && !spec.number) continue;
    if (qualifier !== undefined) spec.qualifier = qualifier;
    found.push(spec);
  }
  return found;
}

/** @param {string | null} category
 * @param {URLSearchParams} query */
export function filterOf(category, query) {
  /** @type {Record<string, any>} */
  const filter = {};
  if (category !== null) filter.category = [category];
  else if (query.has("category")) filter.category = query.getAll("category");
  if (query.has("brand")) filter.brand = query.getAll("brand");
  if (query.has("country")) filter.country = query.getAll("country");
  const range = query.has("price") && price(query.get("price") ?? "");
  if (range) filter.price = range;
  const rating = number(query.get("rating") ?? "");
  if (rating !== undefined) filter.rating = { gte: rating };
  const conditions = specs(query);
  if (conditions.length) filter.specs = conditions;
  return Object.keys(filter).length ? filter : null;
}

/** @param {URLSearchParams} query */
export const searchOf = (query) => query.get("q")?.trim() || null;

/** @param {URLSearchParams} query */
export function unitsOf(query) {
  const units = [...query].filter(([name]) => name.startsWith("u."));
  return units.length ? units.map(([name, unit]) => ({ unit, key: name.slice(2) })) : null;
}

/** @param {URLSearchParams} query */
export function sortOf(query) {
  const sort = query.get("sort") ?? "";
  const key = SORTS[sort.replace(/-desc$/, "")];
  if (!key) return null;
  return [sort.endsWith("-desc") ? { key, direction: "DESCENDING" } : { key }];
}

/** @param {string | null} category
 * @param {URLSearchParams} query */
export function listVariables(category, query) {
  return {
    category: category ?? "",
    inCategory: category !== null,
    filter: filterOf(category, query),
    search: searchOf(query),
    sort: sortOf(query),
    first: PAGE_SIZE,
    after: query.get("after"),
    units: unitsOf(query),
  };
}

/** @param {string | null} category
 * @param {URLSearchParams} query */
export function facetVariables(category, query) {
  return {
    filter: filterOf(category, query),
    search: searchOf(query),
    units: unitsOf(query),
    keys: null,
    limit: FACET_VALUES,
  };
}

/** @param {any} test */
const rangeText = (test) => {
  const low = test.gte ?? test.gt ?? "";
  return test.lt != null ? `${low}..<${test.lt}` : `${low}..${test.lte ?? ""}`;
};

/** The parameter that stands for a value of a facet, and whether several values may be chosen.
 * @param {any} facet
 * @param {any} value
 * @returns {{ name: string, value: string, many: boolean } | null} */
export function parameterOf(facet, { filter }) {
  if (facet.key === "@category") return { name: "category", value: filter.category[0], many: true };
  if (facet.key === "@brand") return { name: "brand", value: filter.brand[0], many: true };
  if (facet.key === "@country") return { name: "country", value: filter.country[0], many: true };
  if (facet.key === "@price") {
    return { name: "price", value: `${filter.price.gte ?? ""}..${filter.price.lte ?? ""}`, many: false };
  }
  if (facet.key === "@rating") return { name: "rating", value: String(filter.rating.gte), many: false };
  const spec = filter.specs?.[0];
  if (!spec) return null;
  const key = spec.qualifier == null ? spec.key : `${spec.key}@${spec.qualifier}`;
  if (spec.text) return { name: `t.${key}`, value: spec.text.eq, many: true };
  if (spec.boolean != null) return { name: `b.${key}`, value: spec.boolean ? "yes" : "no", many: false };
  if (spec.number) {
    const range = spec.number.eq != null ? `=${spec.number.eq}` : rangeText(spec.number);
    const unit = spec.number.unit == null ? "" : `~${spec.number.unit}`;
    return { name: `n.${key}`, value: range + unit, many: false };
  }
  return spec.date ? { name: `d.${key}`, value: rangeText(spec.date), many: false } : null;
}

/** The address of a list with these parameters.
 * @param {string | null} category
 * @param {URLSearchParams} query */
export function listPath(category, query) {
  const path = category === null ? "/search" : `/c/${encodeURIComponent(category)}`;
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** Changes parameters, and returns to the first page.
 * @param {URLSearchParams} query
 * @param {(query: URLSearchParams) => void} edit */
export function edited(query, edit) {
  const next = new URLSearchParams(query);
  next.delete("after");
  edit(next);
  return next;
}

/** Adds a value of a parameter, or removes it.
 * @param {URLSearchParams} query
 * @param {{ name: string, value: string, many: boolean }} parameter */
export function toggled(query, { name, value, many }) {
  return edited(query, (next) => {
    const values = next.getAll(name);
    next.delete(name);
    const alike = (/** @type {string} */ other) => other.toLowerCase() === value.toLowerCase();
    const others = many ? values.filter((other) => !alike(other)) : [];
    for (const kept of values.some(alike) ? others : [...others, value]) next.append(name, kept);
  });
}

/** The spec keys that the shopper has chosen by, or in whose unit.
 * @param {URLSearchParams} query */
export const chosenKeys = (query) =>
  [...query.keys()].filter((name) => /^[tnbdu]\./.test(name)).map((name) => name.slice(2).split("@")[0]);

/** Whether a parameter narrows a list down.
 * @param {string} name */
export const isFilter = (name) => /^(category|brand|country|price|rating|[tnbd]\..+)$/.test(name);
