// What must hold in a page while the system chooses its colours: backgrounds, shadows and colours of the page are
// gone then. `window.lost()` returns what loses its meaning; `window.seen` are the kinds of things that were checked.
(() => {
  const STRONG = 3;
  const CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const NATIVE = "[type=checkbox], [type=radio], [type=file], [type=range]";
  const TAGS = ".badge, .badges li, .state, .status, .energy, kbd, .box, dialog:not(.sheet), .suggestions";
  /** Attributes and classes that say a state, each with the elements that may have it. */
  const STATES = [
    ["[aria-pressed]", (one, on) => one.setAttribute("aria-pressed", String(on))],
    ["[aria-selected]", (one, on) => one.setAttribute("aria-selected", String(on))],
    ["[aria-current]", (one, on) => (on ? one.setAttribute("aria-current", "true") : one.removeAttribute("aria-current"))],
    ["[aria-invalid]", (one, on) => one.setAttribute("aria-invalid", String(on))],
    ...[
      [".choice label", "on"],
      [".grid:not(.versions) tbody tr", "chosen"],
      [".versions td", "changed"],
      [".versions tbody tr", "both"],
      [".comparison tbody tr", "differs"],
      [".dropped", "over"],
    ].map(([selector, name]) => [selector, (one, on) => one.classList.toggle(name, on)]),
  ];

  const shown = (one) => one.getClientRects().length > 0 && one.checkVisibility({ visibilityProperty: true });
  const seethrough = (one) => {
    for (let at = one; at; at = at.parentElement) if (Number(getComputedStyle(at).opacity) === 0) return true;
    return false;
  };
  const what = (one) => `${one.parentElement?.getAttribute("class") ?? ""} > ${one.outerHTML.slice(0, 110)}`;
  const kind = (one) => `${one.parentElement?.getAttribute("class") ?? ""} > ${one.tagName}.${one.getAttribute("class") ?? ""}[${one.type ?? ""}]`;
  const firstOfEach = (selector) => {
    const known = new Map();
    for (const one of document.querySelectorAll(selector)) if (shown(one) && !known.has(kind(one))) known.set(kind(one), one);
    return [...known.values()];
  };

  // Colours, as WCAG compares them.
  const parts = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const over = (top, below) => {
    const [alpha = 1] = top.slice(3);
    return [0, 1, 2].map((at) => top[at] * alpha + below[at] * (1 - alpha));
  };
  const light = (color) => {
    const [red, green, blue] = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const canvas = () => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = "Canvas";
    const color = parts(getComputedStyle(probe).color);
    probe.remove();
    return color;
  };
  const ground = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.unshift(parts(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, top) => over(top, below), canvas());
  };

  /** The lines, letters and colours of an element with all that is in it, and of what stands for a hidden one. */
  const drawn = (one) => {
    const nodes = [one, ...one.querySelectorAll("*"), ...(seethrough(one) && one.nextElementSibling ? [one.nextElementSibling] : [])];
    const lines = [];
    const colors = [];
    for (const node of nodes) {
      for (const pseudo of [undefined, "::before", "::after"]) {
        const style = getComputedStyle(node, pseudo);
        if (pseudo && style.content === "none") continue;
        const sides = ["Top", "Right", "Bottom", "Left"].map((side) => `border${side}`);
        const edges = [...sides, "outline"].map((edge) => (style[`${edge}Style`] === "none" || parts(style[`${edge}Color`])[3] === 0 ? "" : `${style[`${edge}Style`]} ${style[`${edge}Width`]}`));
        lines.push(edges.join(), style.textDecorationLine, style.fontWeight, style.content, style.webkitTextStrokeWidth);
        colors.push(over(parts(style.color), ground(node)), ground(node));
      }
    }
    return { lines: lines.join("|"), colors };
  };
  const differ = (one, other) =>
    one.lines !== other.lines || one.colors.some((color, at) => other.colors[at] && contrast(color, other.colors[at]) >= STRONG);

  /** Whether an element has an outline that is drawn: thick, strong, and not cut off. */
  const outline = (one) => {
    const { outlineStyle, outlineWidth, outlineColor, outlineOffset } = getComputedStyle(one);
    const [width, offset] = [outlineWidth, outlineOffset].map(Number.parseFloat);
    if (outlineStyle === "none" || width < 2 || seethrough(one)) return false;
    const below = ground(offset < 0 ? one : one.parentElement);
    return contrast(over(parts(outlineColor), below), below) >= STRONG && !cut(one, offset + width);
  };
  const cut = (one, reach) => {
    const box = one.getBoundingClientRect();
    for (let at = one.parentElement; at && at !== document.body; at = at.parentElement) {
      const { overflowX, contentVisibility, overflowClipMargin, position } = getComputedStyle(at);
      if (position === "fixed" || at.tagName === "DIALOG") break;
      if (overflowX === "visible" && contentVisibility !== "auto") continue;
      const edge = at.getBoundingClientRect();
      const room = reach - (overflowX === "visible" ? Number.parseFloat(overflowClipMargin) || 0 : 0);
      const sides = [box.left - edge.left, edge.right - box.right, box.top - edge.top, edge.bottom - box.bottom];
      if (sides.filter((side) => side < room - 1).length > 1) return true;
    }
    return false;
  };

  /** The ways in which a control can be on, each with the way back: its focus is seen then, too. */
  const turnedOn = (one) => {
    const ways = STATES.filter(([selector]) => selector.startsWith("[") && one.matches(selector));
    const found = ways.map(([selector, set]) => {
      const name = selector.slice(1, -1);
      const value = one.getAttribute(name);
      return [() => set(one, true), () => one.setAttribute(name, value)];
    });
    if (one.matches("[type=radio], [type=checkbox]")) found.push(checking(one));
    return found;
  };
  const checking = (one) => {
    const group = one.name ? [...document.getElementsByName(one.name)] : [one];
    const checked = group.map((other) => other.checked);
    return [() => (one.checked = true), () => group.forEach((other, at) => (other.checked = checked[at]))];
  };

  window.seen = {};
  const rules = {
    "focus is not seen": (fail) => {
      for (const one of firstOfEach(CONTROLS)) {
        if (one.disabled) continue;
        const marks = [one, one.closest("label"), one.nextElementSibling].filter(Boolean);
        for (const [put, back] of [[() => {}, () => {}], ...turnedOn(one)]) {
          put();
          document.activeElement?.blur();
          const before = marks.map(outline);
          one.focus();
          const focused = document.activeElement === one;
          const seen = marks.some((mark, at) => outline(mark) && !before[at]);
          back();
          if (focused) window.seen["a focus"] = true;
          if (focused && !seen) fail(one);
        }
      }
      document.activeElement?.blur();
    },
    "a state is not seen": (fail) => {
      for (const [selector, set] of STATES) {
        for (const one of firstOfEach(selector)) {
          const kept = one.cloneNode(false);
          set(one, true);
          const on = drawn(one);
          set(one, false);
          const off = drawn(one);
          for (const { name } of [...one.attributes]) if (!kept.hasAttribute(name)) one.removeAttribute(name);
          for (const { name, value } of kept.attributes) one.setAttribute(name, value);
          if (!differ(on, off)) fail(one);
        }
      }
      for (const one of document.querySelectorAll("[type=radio], [type=checkbox]")) {
        if (!seethrough(one) || one.closest(".choice")) continue;
        const [check, back] = checking(one);
        check();
        const on = drawn(one);
        one.checked = false;
        const off = drawn(one);
        back();
        window.seen["a hidden choice"] = true;
        if (!differ(on, off)) fail(one);
      }
    },
    "a button or tag has no edge": (fail) => {
      for (const one of firstOfEach(`button, .button, select, textarea, input:not([type=hidden]), ${TAGS}`)) {
        if (one.matches(NATIVE) || seethrough(one)) continue;
        const style = getComputedStyle(one);
        const edges = ["Top", "Right", "Bottom", "Left"].filter((side) => style[`border${side}Style`] !== "none" && Number.parseFloat(style[`border${side}Width`]) >= 1 && contrast(over(parts(style[`border${side}Color`]), ground(one.parentElement)), ground(one.parentElement)) >= STRONG);
        if (edges.length < 4 && !(one.tagName === "BUTTON" && style.textDecorationLine.includes("underline"))) fail(one);
      }
    },
    "a drawing is not seen": (fail) => {
      for (const one of firstOfEach("svg")) {
        for (const shape of one.querySelectorAll("rect, path, circle, line, text")) {
          window.seen[`${shape.closest("[class]").getAttribute("class")} ${shape.tagName}`] = true;
          const { fill, stroke, strokeWidth } = getComputedStyle(shape);
          const strong = (color) => color !== "none" && contrast(over(parts(color), ground(one)), ground(one)) >= STRONG;
          if (!strong(fill) && !(strong(stroke) && Number.parseFloat(strokeWidth) >= 1)) fail(shape);
        }
      }
      for (const one of firstOfEach(".stars")) {
        const [all, given] = ["::before", "::after"].map((pseudo) => getComputedStyle(one, pseudo));
        const colors = [all, given].map((style) => over(parts(style.color), ground(one)));
        if (all.content === given.content && contrast(...colors) < STRONG) fail(one);
      }
    },
  };

  window.lost = () => {
    const found = [];
    for (const [rule, check] of Object.entries(rules)) check((one) => found.push(`${rule}: ${what(one)}`));
    for (const selector of [CONTROLS, TAGS, ...STATES.map(([selector]) => selector), ".stars"]) {
      for (const part of selector.split(", ")) if (document.querySelector(part)) window.seen[part] = true;
    }
    return found;
  };
})();
