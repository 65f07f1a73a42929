/** Elements from plain values. Text enters the page as text nodes only, never as HTML. */

/**
 * Return an element. `props`: attributes; `class`, `dataset` and `on` (listeners) are named so,
 * properties that are no attributes begin with a dot. Children that are null or false are left out.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name.startsWith(".")) node[name.slice(1)] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

/** Add children, nested arrays too. */
export function append(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Put these children in the place of all that were there. */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

// Controls, marks of direction and invisible characters: what a text must not do unseen.
const UNSEEN = new RegExp(
  "[\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F-\\u009F\\u034F\\u061C\\u180E\\u200B\\u200E\\u200F" +
  "\\u2028-\\u202E\\u2060-\\u206F\\u2800\\u3164\\uFEFF\\uFFF9-\\uFFFB]|[\\u{E0000}-\\u{E007F}]", "gu");

/** Return text from outside with its unseen characters made visible. */
export function visible(text) {
  return String(text ?? "").replace(UNSEEN, (char) => {
    const code = char.codePointAt(0);
    return code < 32 ? String.fromCodePoint(0x2400 + code)
      : `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

/** Return an element that isolates the direction of a text from outside. */
export function outside(text, props = {}) {
  return el("bdi", props, visible(text));
}

/** Return a link to a page of the web, or its bare text where the address is no http(s) URL. */
export function webLink(url, text = url, props = {}) {
  const target = webAddress(url);
  if (!target) return outside(text, props);
  return el("a", {
    ...props, href: target, target: "_blank", rel: "noopener noreferrer nofollow",
    referrerpolicy: "no-referrer",
  }, outside(text));
}

/** Return the address if it is an absolute http(s) URL, else null. */
export function webAddress(url) {
  try {
    const parsed = new URL(String(url));
    return parsed.protocol === "https:" || parsed.protocol === "http:" ? parsed.href : null;
  } catch {
    return null;
  }
}

let count = 0;

/** Return an id that no other element has. */
export function freshId(stem) {
  count += 1;
  return `${stem}-${count}`;
}
