// @ts-check
// Pictures that people have uploaded.
import { h } from "../vendor/preact/preact.js";
import { first } from "./first.js";

/** Whether an address is that of a picture that was uploaded here.
 * @param {string} url */
export const isOwn = (url) => Boolean(first.pictures) && url.startsWith(`${first.pictures}/`);

/** The pictures of a review. Those that were not uploaded here are on hosts of strangers: they are links, so that nobody
 * learns who reads.
 * @param {{ media: any[] }} props */
export function ReviewPictures({ media }) {
  if (!media.length) return null;
  const nameOf = (/** @type {any} */ one, /** @type {number} */ at) => one.alt || `${one.kind.charAt(0)}${one.kind.slice(1).toLowerCase()} ${at + 1}`;
  return h(
    "ul",
    { class: "files" },
    media.map((one, at) =>
      h(
        "li",
        { key: one.url },
        h("a", { href: one.url, target: "_blank", rel: "nofollow ugc noopener noreferrer" }, isOwn(one.url) ? h("img", { src: one.url, alt: nameOf(one, at), width: 96, height: 96, loading: "lazy" }) : nameOf(one, at)),
      ),
    ),
  );
}
