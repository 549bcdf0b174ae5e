// @ts-check
// Numbers, money and times as text. `src/format.rs` writes the same.

/** @param {number} number */
export const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

/** @type {Record<string, string>} */
const SYMBOLS = { EUR: "€", USD: "$", GBP: "£", JPY: "¥" };

/** @param {{ amount: string, currency: string } | null | undefined} price */
export function money(price) {
  if (!price) return "";
  const [whole, part] = price.amount.split(".");
  const amount = count(Number(whole)) + (part ? `.${part}` : "");
  const symbol = SYMBOLS[price.currency];
  return symbol ? symbol + amount : `${price.currency} ${amount}`;
}

/** @param {number} average */
export const average = (average) => average.toFixed(1);

/** The number of half stars that are filled.
 * @param {number} average */
export const halfStars = (average) => Math.max(0, Math.min(10, Math.floor(average * 2 + 0.5)));

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {string | null | undefined} time */
export function day(time) {
  const [year, month, day] = (time ?? "").split(/[-T]/);
  return day ? `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}` : "";
}

/** @param {string} month such as `2026-05` */
export function monthName(month) {
  const [year, number] = month.split("-");
  return `${MONTHS[Number(number) - 1]} ${year}`;
}

/** A number with its noun, given in the singular.
 * @param {number} number
 * @param {string} noun */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A total as far as it is known, with its noun.
 * @param {{ value: number, relation: string }} total
 * @param {string} noun */
export function total({ value, relation }, noun) {
  const number = plural(value, noun);
  if (relation === "AT_LEAST") return `more than ${number}`;
  if (relation === "ESTIMATE") return `about ${number}`;
  return number;
}

/** A share in percent.
 * @param {number} share */
export const percent = (share) => `${Math.round(share * 100)}%`;
