// @ts-check
// The pictures of a product, or drawings of it.
import { h } from "../vendor/preact/preact.js";
import { useState } from "../vendor/preact/hooks.js";
import { drawing, fallBack, isReal } from "./tile.js";

/** Views of a product that has no picture, at most. */
const MAX_DRAWINGS = 4;

/** @param {any} product
 * @returns {{ src: string, alt: string }[]} */
function picturesOf(product) {
  const images = product.media.filter((/** @type {any} */ media) => media.kind === "IMAGE");
  const real = images.filter((/** @type {any} */ image) => isReal(image.url));
  if (real.length) return real.map((/** @type {any} */ image) => ({ src: image.url, alt: image.alt ?? product.name }));
  const views = Math.max(1, Math.min(MAX_DRAWINGS, images.length));
  return Array.from({ length: views }, (_, view) => ({
    src: drawing(product, view),
    alt: view === 0 ? product.name : (images[view]?.alt ?? product.name),
  }));
}

/** @param {{ product: any }} props */
export function Gallery({ product }) {
  const pictures = picturesOf(product);
  const [at, setAt] = useState(0);
  const shown = pictures[Math.min(at, pictures.length - 1)];
  const others = product.media.filter((/** @type {any} */ media) => media.kind !== "IMAGE" && isReal(media.url));
  return h(
    "div",
    { class: "gallery" },
    h(
      "figure",
      { class: "stage" },
      h("img", { src: shown.src, alt: shown.alt, width: 640, height: 640, fetchpriority: "high", onError: fallBack(product) }),
    ),
    pictures.length > 1 &&
      h(
        "ul",
        { class: "views", "aria-label": "Pictures" },
        pictures.map((picture, index) =>
          h(
            "li",
            { key: picture.src },
            h(
              "button",
              { type: "button", "aria-label": `Picture ${index + 1} of ${pictures.length}`, "aria-current": index === at ? "true" : undefined, onClick: () => setAt(index) },
              h("img", { src: picture.src, alt: "", width: 80, height: 80, onError: fallBack(product) }),
            ),
          ),
        ),
      ),
    others.length > 0 &&
      h("ul", { class: "files" }, others.map((/** @type {any} */ file) => h("li", { key: file.url }, h("a", { href: file.url, rel: "noopener noreferrer", target: "_blank" }, file.alt ?? file.kind.toLowerCase())))),
  );
}
