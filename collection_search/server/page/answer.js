/** Asking a collection: the answer with citations that open their passage. */

import { api } from "./api.js";
import { el, fill, outside, visible, webLink } from "./dom.js";
import { score, usd } from "./format.js";
import { t } from "./i18n.js";
import { busy, button, copy, emptyUntilSearch, errorBox, field, limitLength, loading, notice } from "./widgets.js";

/** Return the form with the place of its answer. */
export function askPanel(info, { signal }) {
  const place = el("div", { id: "answered" });
  if (!info.documents) {
    return emptyUntilSearch(t("answer.noDocuments"), t("answer.noDocumentsHint"));
  }
  const question = el("input", {
    id: "collection-question", type: "search", required: true, dir: "auto",
    autocomplete: "off", placeholder: t("answer.example"),
  });
  const submit = el("button", { class: "primary" }, t("answer.submit"));
  const form = el("form", { id: "ask-collection", class: "ask-line", novalidate: true },
    field(t("answer.question"), question), submit);
  form.addEventListener("input", () => limitLength(question));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!question.value.trim() || !limitLength(question)) return;
    busy(submit, () => answerInto(place, info.name, question.value.trim(), signal));
  });
  return el("div", {}, form, place);
}

async function answerInto(place, name, question, signal) {
  fill(place, loading());
  try {
    const found = await api.post(["collections", name, "ask"], { question }, signal);
    fill(place, answer(found), passages(found));
    place.querySelector("h2")?.focus();
  } catch (error) {
    if (!signal.aborted) fill(place, errorBox(error));
  }
}

function answer(found) {
  const text = found.answer?.text;
  return el("section", { id: "answer", class: "card answer", "aria-labelledby": "answer-title" },
    el("div", { class: "row spread" },
      el("h2", { id: "answer-title", tabindex: "-1" }, t(text ? "answer.title" : "answer.passages")),
      text && button(t("copy"), () => copy(plain(found)), { class: "small", id: "copy-answer" })),
    text ? written(text, found.passages) : notice("info",
      found.passages.length ? t("answer.noText") : t("answer.nothing")),
    found.note && el("p", { class: "quiet" }, outside(found.note)),
    found.notices.map((one) => el("p", { class: "quiet" }, outside(one))),
    found.cost_usd > 0 && el("p", { class: "quiet" }, usd(found.cost_usd)));
}

/**
 * Return the answer's paragraphs: of its Markdown blocks and words of code are set apart, and marks
 * such as [2] become buttons if there is such a passage.
 */
function written(text, all) {
  const known = new Set(all.map((passage) => passage.n));
  const inline = (part) => part.split(/(\[\d+\]|`[^`\n]+`)/).map((piece) => {
    if (/^`.+`$/.test(piece)) return el("code", {}, visible(piece.slice(1, -1)));
    const n = Number(/^\[(\d+)\]$/.exec(piece)?.[1]);
    return known.has(n) ? citation(n) : visible(piece).replaceAll("[no source]", t("answer.noSource"));
  });
  return el("div", { class: "prose", dir: "auto" },
    text.split(/(```[\s\S]*?(?:```|$))/).flatMap((block) => block.startsWith("```")
      ? el("pre", { tabindex: "0" }, visible(block.replace(/^```[^\n]*\n?|```$/g, "")))
      : block.split(/\n{2,}/).filter((part) => part.trim()).map((part) =>
        el("p", {}, inline(part.trim())))));
}

function citation(n) {
  return el("button", {
    type: "button", class: "cite", dataset: { cites: n }, "aria-label": t("answer.cite", { n }),
    on: { click: () => openPassage(n) },
  }, `[${n}]`);
}

function openPassage(n) {
  const passage = document.querySelector(`#passages [data-n="${n}"]`);
  if (!passage) return;
  for (const other of document.querySelectorAll("#passages .is-cited")) {
    other.classList.remove("is-cited");
  }
  passage.classList.add("is-cited");
  passage.querySelector("details").open = true;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  passage.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "center" });
  passage.focus({ preventScroll: true });
}

function passages(found) {
  if (!found.passages.length) return null;
  return el("section", { "aria-labelledby": "passages-title" },
    el("h2", { id: "passages-title" }, t("answer.sources", { n: found.passages.length })),
    el("ol", { id: "passages", class: "passages" }, found.passages.map((each) =>
      passage(each))));
}

function passage(each) {
  return el("li", { class: "card passage", tabindex: "-1", dataset: { n: each.n } },
    el("div", { class: "row spread" },
      el("h3", {}, el("span", { class: "cite-mark" }, `[${each.n}]`), " ",
        webLink(each.url, each.title || each.url)),
      button(t("copy"), () => copy(each.text), {
        class: "small", "aria-label": t("answer.copyPassage", { n: each.n }),
      })),
    el("p", { class: "result-facts" },
      each.section && outside(each.section), each.page && el("span", {}, t("answer.page", { n: each.page })), outside(each.url, { class: "url quiet" }),
      el("span", { class: "quiet" }, t("answer.score", { score: score(each.score) })),
      each.answers === false && el("span", { class: "quiet" }, t("answer.weak"))),
    el("p", { class: "passage-best", dir: "auto" }, best(each)),
    el("details", {}, el("summary", {}, t("answer.text")),
      el("p", { class: "passage-text", dir: "auto", tabindex: "0" }, visible(each.text))));
}

/** Return the parts that answer best; dots stand for what is left out between them. */
function best({ text, best: parts }) {
  const chars = [...text]; // places count characters, not units of UTF-16
  return parts.flatMap(({ start, end }, index) => [
    index > 0 && (parts[index - 1].end + 2 < start ? " … " : " "),
    visible(chars.slice(start, end).join(""))]);
}

function plain(found) {
  const sources = found.passages.map((each) => `[${each.n}] ${each.title} ${each.url}`);
  return `${found.answer.text}\n\n${sources.join("\n")}\n`;
}
