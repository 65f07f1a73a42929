/** Why a result stands where it does: its parts, words, and the verdicts of criteria. */

import { el, outside } from "./dom.js";
import { number, score } from "./format.js";
import { t, word } from "./i18n.js";
import { badge } from "./widgets.js";

/** Return a bar of a score with its figures. `threshold` is marked where there is one. */
export function scoreBar(result, threshold = null) {
  const value = result.embedding_rank_score;
  const fillBar = el("span", { class: "bar-fill" });
  const bar = el("span", { class: "bar", "aria-hidden": "true" }, fillBar);
  fillBar.style.inlineSize = `${Math.max(0, Math.min(100, value))}%`;
  if (threshold !== null) {
    const mark = el("span", { class: "bar-mark" });
    mark.style.insetInlineStart = `${threshold}%`;
    bar.append(mark);
  }
  return el("div", { class: `score ${level(value, threshold)}` },
    el("strong", { class: "score-value" },
      el("span", { class: "unseen" }, `${t("score.label")} `), score(value)),
    bar,
    el("span", { class: "score-parts" },
      el("span", {}, t("score.similarity", { value: number(result.embedding_similarity, 2) })),
      el("span", {}, t("score.heuristic", { value: number(result.heuristic_score) }))));
}

/** Return the explanation, folded; its content is made when it is opened for the first time. */
export function explanation(result) {
  const found = result.explanation ?? {};
  const node = el("details", { class: "why" },
    el("summary", {}, t("why.title"), el("span", { class: "unseen" }, ` ${result.title}`)));
  node.addEventListener("toggle", () => {
    if (node.open && node.childElementCount === 1) node.append(content(found, result.criteria));
  });
  return node;
}

function content(found, criteria) {
  return el("div", { class: "why-body" },
    found.sentence && el("p", { lang: "en" }, outside(found.sentence)),
    found.addends?.length > 0 && addends(found.addends),
    words("why.matched", "good", found.matched), words("why.missing", "off", found.missing),
    found.meaning && el("p", { class: "quiet", lang: "en" }, outside(found.meaning)),
    found.model && el("p", { class: "quiet" }, t("why.model"), " ", outside(found.model)),
    criteria && verdicts(criteria));
}

function addends(parts) {
  return el("div", { class: "scroll" }, el("table", { class: "addends" },
    el("thead", {}, el("tr", {},
      el("th", { scope: "col" }, t("why.part")), el("th", { scope: "col", class: "num" }, t("why.value")),
      el("th", { scope: "col", class: "num" }, t("why.weight")),
      el("th", { scope: "col", class: "num" }, t("why.points")))),
    el("tbody", {}, parts.map((part) => el("tr", {},
      el("th", { scope: "row" }, word("part", part.name)),
      el("td", { class: "num" }, number(part.value, 1)), el("td", { class: "num" }, number(part.weight, 2)),
      el("td", { class: "num" }, number(part.points, 1)))))));
}

function words(key, kind, found) {
  return found?.length > 0 && el("p", { class: "words" }, t(key), " ",
    found.map((each) => [badge(kind, outside(each)), " "]));
}

function verdicts(criteria) {
  return el("div", {}, el("p", {}, el("strong", {}, t("why.criteria"))),
    el("ul", { class: "verdicts" }, criteria.verdicts.map((each) => el("li", {},
      badge({ yes: "good", no: "bad" }[each.verdict] ?? "off", word("verdict", each.verdict)), " ",
      outside(each.criterion), each.reason && [" – ", outside(each.reason, { class: "quiet" })],
      each.quote && el("q", {}, outside(each.quote))))));
}

function level(value, threshold) {
  if (value >= (threshold ?? 60)) return "high";
  return value >= Math.min(50, threshold ?? 50) ? "middle" : "low";
}
