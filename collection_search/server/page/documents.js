/** The documents of a collection, a page at a time, with a search. */

import { api } from "./api.js";
import { el, fill, outside, webLink } from "./dom.js";
import { number, when } from "./format.js";
import { t } from "./i18n.js";
import { may } from "./session.js";
import { ask, badge, button, empty, emptyUntilSearch, errorBox, load, pager, toast, withinList } from "./widgets.js";

const LIMIT = 50;
const SEARCH_AFTER_MS = 300;

/** Return the list with its search field. */
export function documentsView(info, { signal, changed }) {
  const place = el("div", {});
  const search = el("input", {
    type: "search", id: "document-search", "aria-label": t("documents.search"),
    placeholder: t("documents.search"), dir: "auto",
  });
  const problem = el("div", {});
  let timer = null;
  const go = (offset) => load(place, () => page(info, { search, offset, go, problem, changed, signal }), signal);
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => go(0), SEARCH_AFTER_MS);
  });
  go(0);
  return el("div", {}, el("p", {}, search), problem, place);
}

async function page(info, place) {
  const { search, offset, go, problem, changed, signal } = place;
  const wanted = search.value.trim();
  const found = await api.get(["collections", info.name, "documents"],
    { offset, limit: LIMIT, search: wanted }, signal);
  if (!found.total) {
    return wanted ? empty(t("documents.noMatch"), t("documents.noMatchHint"))
      : emptyUntilSearch(t("documents.none"), t("documents.noneHint"));
  }
  const within = withinList(offset, { total: found.total, limit: LIMIT });
  if (within !== offset) return page(info, { ...place, offset: within });
  const remove = async (one) => {
    const sure = await ask({
      title: t("documents.deleteSure"), text: outside(one.title || one.url),
      yes: t("delete"), danger: true,
    });
    if (!sure) return;
    fill(problem);
    try {
      await api.delete(["collections", info.name, "documents"], { urls: [one.url] });
      toast(t("deleted"));
      await Promise.all([go(offset), changed()]);
    } catch (error) {
      fill(problem, errorBox(error));
    }
  };
  return [
    el("p", { class: "quiet", role: "status" }, t("count.documents", { n: found.total })),
    el("ul", { id: "documents", class: "documents" }, found.documents.map((one) => row(one, remove))),
    pager({ total: found.total, offset, limit: LIMIT, go }),
  ];
}

function row(one, remove) {
  const from = one.provenance ?? {};
  return el("li", { dataset: { url: one.url } },
    el("div", {},
      el("p", { class: "document-title" }, webLink(one.url, one.title || one.url), " ",
        one.is_pdf && badge("info", "PDF")),
      el("p", { class: "result-facts" }, outside(one.url, { class: "url quiet" }),
        el("span", { class: "quiet" }, t("count.chunks", { n: one.chunks })),
        one.fetched_at && el("span", { class: "quiet" }, t("documents.fetched"), " ", when(one.fetched_at)),
        typeof from.embedding_rank_score === "number" && el("span", { class: "quiet" },
          t("answer.score", { score: number(from.embedding_rank_score) }))),
      from.question && el("p", { class: "quiet small-text" }, t("documents.for"), " ", outside(from.question))),
    may("admin") && button(t("delete"), () => remove(one), {
      class: "small quiet-button", "aria-label": `${t("delete")}: ${one.title || one.url}`,
    }));
}
