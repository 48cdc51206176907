// Elements are made here and nowhere else. Text always becomes a text node, so nothing that an application says is markup.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "rect", "path", "line", "text", "title", "polygon", "tspan"]);

/** Return an element with properties and children; null and false children are omitted. */
export function h(tag, properties = {}, ...children) {
  const drawn = SVG_TAGS.has(tag) || properties.drawn;
  const element = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "drawn" || value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replace what is in an element, and keep the focus on the element with the same `data-key`. */
export function fill(element, ...children) {
  const key = element.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (key) element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
  return element;
}

/** Say something to people who use a screen reader. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
