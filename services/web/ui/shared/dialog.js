// @ts-check
// Dialogs, what screen readers say, and what stands in place of a page.
import { h } from "../vendor/preact/preact.js";
import { useEffect, useRef } from "../vendor/preact/hooks.js";
import { announcement } from "./navigation.js";

/** Says politely what has changed. */
export function Announcer() {
  return h("p", { class: "hidden", role: "status", "aria-live": "polite" }, announcement.value);
}

/** What is shown instead of a page that is not there yet, or fails.
 * @param {{ error: Error | null }} props */
export function Trouble({ error }) {
  if (!error) return h("div", { class: "page waiting", "aria-busy": "true" }, h("p", { class: "hidden" }, "Loading …"));
  return h(
    "div",
    { class: "page narrow", role: "alert" },
    h("h1", null, "This page cannot be shown"),
    h("p", { class: "iso" }, error.message),
    h("p", null, h("button", { class: "button", type: "button", onClick: () => location.reload() }, "Try again")),
  );
}

/** @param {{ open: boolean, onClose: () => void, label: string, class?: string, children?: any }} props */
export function Dialog({ open, onClose, label, class: name = "", children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const { current } = dialog;
    if (open && current && !current.open) current.showModal();
    if (!open && current?.open) current.close();
  }, [open]);
  // A click beside the dialog is one on its backdrop.
  const beside = (/** @type {any} */ event) => event.target === dialog.current && onClose();
  return h(
    "dialog",
    { ref: dialog, class: `dialog ${name}`, "aria-label": label, onClose, onClick: beside },
    open &&
      h(
        "div",
        { class: "inside" },
        h("button", { type: "button", class: "close", "aria-label": "Close", onClick: onClose }, "×"),
        children,
      ),
  );
}
