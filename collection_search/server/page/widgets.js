/** Parts that several views use: buttons, notices, dialogs, pages of a list. */

import { ApiError } from "./api.js";
import { append, el, fill, freshId, visible } from "./dom.js";
import { t } from "./i18n.js";
import { may } from "./session.js";

const MAX_CHARS = 2000; // of a question

/** Return a button. `work` may be asynchronous: until it ends the button is busy. */
export function button(text, work, props = {}) {
  const node = el("button", { type: "button", ...props }, text);
  node.addEventListener("click", () => busy(node, work));
  return node;
}

/** Run the work once at a time; meanwhile the button says that it is busy. */
export async function busy(node, work) {
  if (node.getAttribute("aria-disabled") === "true") return;
  node.setAttribute("aria-disabled", "true");
  node.setAttribute("aria-busy", "true");
  try {
    await work();
  } finally {
    node.removeAttribute("aria-disabled");
    node.removeAttribute("aria-busy");
  }
}

/** Return what an error says, and what to do where only the page knows. */
export function said(error) {
  if (!(error instanceof ApiError)) return visible(error?.message ?? error);
  if (error.status === 0) return t(error.type === "TimeoutError" ? "error.slow" : "error.offline");
  if (error.message) return visible(error.message);
  return t(error.status >= 500 ? "error.server" : "error.refused", { status: String(error.status) });
}

/** Return a box that tells an error; with `retry` it has a button to try again. */
export function errorBox(error, retry = null) {
  return el("div", { class: "notice bad", role: "alert" },
    el("p", {}, el("strong", {}, t("error.title")), " ", el("bdi", {}, said(error))),
    retry && button(t("error.retry"), retry, { class: "small" }));
}

/** Return a box with a remark. `kind`: info, good, warn or bad. */
export function notice(kind, ...content) {
  return el("div", { class: `notice ${kind}` }, el("p", {}, content));
}

/** Return what stands where a list is empty, and what to do next. */
export function empty(title, hint, ...actions) {
  return el("div", { class: "empty" },
    el("p", { class: "empty-title" }, title), el("p", {}, hint),
    actions.length > 0 && el("p", { class: "row" }, actions));
}

/** Return the same where a search fills the list; who may not search is not told to. */
export function emptyUntilSearch(title, hint) {
  return may("reviewer")
    ? empty(title, hint, el("a", { class: "button primary", href: "#/ask" }, t("nav.ask")))
    : empty(title, t("empty.viewer"));
}

/** Return what stands in a place until its content has come. */
export function loading() {
  return el("p", { class: "loading", role: "status" }, t("loading"));
}

const loads = new WeakMap(); // the last work of each place

/**
 * Fill a place with what `work` returns; a failure is told there and can be tried again.
 *
 * Nothing is filled once `signal` is aborted, since another view has the place by then, or once a
 * later work was begun for the place. A focus in the place stays there.
 */
export async function load(place, work, signal) {
  if (place.id !== "main") place.classList.add("place");
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  const isCurrent = () => !signal?.aborted && loads.get(place) === work;
  loads.set(place, work);
  fill(place, loading());
  try {
    const children = await work();
    if (isCurrent()) fill(place, children);
  } catch (error) {
    if (isCurrent()) fill(place, errorBox(error, () => load(place, work, signal)));
  }
  if (held && isCurrent() && document.activeElement === document.body) refocus(place, held);
}

/** Focus what has the name of the element that had the focus, or the place. */
function refocus(place, held) {
  const name = held.getAttribute("aria-label");
  const same = [...place.querySelectorAll("[aria-label]")]
    .find((each) => name && each.getAttribute("aria-label") === name);
  if (!same) place.tabIndex = -1;
  (same ?? place).focus({ preventScroll: !same });
}

/** Tell something in passing. */
export function toast(text) {
  const node = el("div", { class: "toast" }, text);
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), 6000);
}

/** Decline all questions: their view is left. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close("no");
}

/**
 * Ask in a dialog, and return true or the comment if one was asked for; null if it was declined.
 * `comment` is the text with which its field begins; without one no comment is asked for.
 */
export function ask({ title, text, yes, danger = false, comment = null }) {
  const heading = freshId("dialog");
  const words = comment !== null
    && el("textarea", { rows: 3, maxlength: 2000, dir: "auto", ".value": comment });
  const form = el("form", { method: "dialog" },
    el("h2", { id: heading }, title), text && el("p", {}, text),
    words && el("label", { class: "field" }, el("span", {}, t("gate.comment")), words),
    el("p", { class: "row end" },
      el("button", { value: "no", formnovalidate: true }, t("cancel")),
      el("button", { value: "yes", class: danger ? "danger" : "primary" }, yes)));
  const dialog = el("dialog", { "aria-labelledby": heading }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(dialog.returnValue !== "yes" ? null : words ? words.value.trim() : true);
  }));
}

/** Return the offset, or that of the last page of a list where the list has become too short for it. */
export function withinList(offset, { total, limit }) {
  return Math.min(offset, Math.max(0, Math.floor((total - 1) / limit) * limit));
}

/** Return buttons for the pages of a list, or nothing where one page is enough. */
export function pager({ total, offset, limit, go }) {
  if (total <= limit) return null;
  const last = Math.min(total, offset + limit);
  const step = (text, to) => to < 0 || to >= total
    ? el("button", { type: "button", class: "small", disabled: true }, text)
    : button(text, () => go(to), { class: "small" });
  return el("nav", { class: "pager", "aria-label": t("pager.label") },
    step(t("pager.previous"), offset - limit),
    el("span", {}, t("pager.where", { first: offset + 1, last, total })),
    step(t("pager.next"), offset + limit));
}

/** Return a field with its label above, a hint below and a place for its error. */
export function field(label, input, { hint = null, lang = null } = {}) {
  input.id ||= freshId("field");
  const error = el("span", { class: "field-error", id: `${input.id}-error`, hidden: true });
  const about = hint && el("span", { class: "hint", id: `${input.id}-hint`, lang }, hint);
  input.setAttribute("aria-describedby", `${about ? `${about.id} ` : ""}${error.id}`);
  return el("div", { class: "field" },
    el("label", { for: input.id, lang }, label), input, about, error);
}

/** Show an error at the field with this id; return whether there is such a field. */
export function fieldError(id, message) {
  const input = document.getElementById(id);
  const place = document.getElementById(`${id}-error`);
  if (!input || !place) return false;
  input.setAttribute("aria-invalid", "true");
  input.closest("details")?.setAttribute("open", "");
  place.hidden = false;
  place.textContent = visible(message);
  input.addEventListener("input", () => clearFieldError(input, place), { once: true });
  return true;
}

/**
 * Tell at a question's field whether it is too long, and return whether it is short enough. Nothing
 * is cut, as `maxlength` would do. Characters are counted as the server counts them.
 */
export function limitLength(input) {
  const isLong = [...input.value.trim().replace(/\s+/g, " ")].length > MAX_CHARS;
  input.setCustomValidity(isLong ? t("invalid.long", { most: MAX_CHARS }) : "");
  if (isLong) fieldError(input.id, input.validationMessage);
  return !isLong;
}

/** Take back the errors of all fields of a form. */
export function clearFieldErrors(form) {
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    clearFieldError(input, document.getElementById(`${input.id}-error`));
  }
}

function clearFieldError(input, place) {
  input.removeAttribute("aria-invalid");
  if (place) place.hidden = true;
}

/** Return a short mark with a meaning in colour and words. */
export function badge(kind, text) {
  return el("span", { class: `badge ${kind}` }, text);
}

/** Return a list of facts: pairs of a name and a value; pairs without a value are left out. */
export function facts(pairs) {
  const list = el("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value !== null && value !== undefined && value !== false) {
      append(list, el("div", {}, el("dt", {}, name), el("dd", {}, value)));
    }
  }
  return list;
}

/** Return the heading of a view; the focus goes there after a change of view. */
export function heading(...text) {
  return el("h1", { tabindex: "-1" }, text);
}

/** Copy a text, and tell whether it worked. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("copied"));
  } catch {
    toast(t("copyFailed"));
  }
}
