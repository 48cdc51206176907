// Places in files: a link into an editor if the server names one, otherwise text to copy.

import { announce, h } from "./dom.js";

/** Return a place in a file, `{ file, line, column }`, as a link or a button. */
export function placeOf({ file, line, column }, { editor }) {
  const text = `${file}:${line}:${column}`;
  if (editor && file.startsWith("/")) {
    const parts = { path: encodeURI(file), line, column };
    return h("a", { class: "mono", href: editor.replace(/{(path|line|column)}/g, (_, part) => parts[part]) }, text);
  }
  return h("button", { class: "place mono", title: "Copy", "aria-label": `Copy ${text}`,
    onclick: () => navigator.clipboard?.writeText(text).then(() => announce("copied")) }, text);
}
