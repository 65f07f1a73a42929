/** A list of results that can be ticked: of a run, or the candidates of a gate. */

import { el, freshId, outside, webLink } from "./dom.js";
import { explanation, scoreBar } from "./explanation.js";
import { day } from "./format.js";
import { t } from "./i18n.js";
import { reasonAgainst, refusalBadge, refusalReason } from "./refusals.js";
import { badge } from "./widgets.js";

const MANY = 50; // from here on, rows outside the window are laid out when they come into it

/** The rows, and which of them are ticked. */
export class ResultList {
  #rows = [];

  /** `canTick`: rows have boxes; `isTicked(result)`: at first; `changed()`: after every tick. */
  constructor(results, { canTick, isTicked = () => false, threshold = null, changed = () => {} }) {
    this.#rows = results.map((result, index) => row(result, index, { canTick, isTicked, threshold }));
    this.element = el("ol", { id: "results", class: results.length > MANY ? "results many" : "results" }, this.#rows.map((each) => each.element));
    this.element.addEventListener("change", changed);
  }

  /** Return the URLs of the ticked rows. */
  get chosen() {
    return this.#rows.filter((each) => each.box?.checked).map((each) => each.result.url);
  }

  /** Return how many rows there are. */
  get size() {
    return this.#rows.length;
  }

  /** Mark the rows whose pages are stored by now; `facts` by URL. */
  mark(facts) {
    for (const each of this.#rows) each.mark.hidden = !facts[each.result.url]?.in_collection;
  }

  /** Tick the rows that nothing refuses. */
  tickAll() {
    this.tick((each) => !reasonAgainst(each));
  }

  /** Tick the rows that the test takes, and no others. */
  tick(test) {
    for (const each of this.#rows) {
      if (each.box) each.box.checked = test(each.result);
    }
    this.element.dispatchEvent(new Event("change"));
  }
}

function row(result, index, { canTick, isTicked, threshold }) {
  const id = freshId("result");
  const box = canTick && el("input", {
    type: "checkbox", "aria-labelledby": id, ".checked": isTicked(result),
  });
  const mark = badge("good", t("result.stored"));
  mark.hidden = !(result.in_collection ?? result.already_stored);
  const element = el("li", { class: "result", dataset: { url: result.url, rank: index + 1 } },
    box ? el("label", { class: "tick" }, box) : el("span", { class: "rank" }, index + 1),
    el("div", { class: "result-body" },
      el("h3", { id }, webLink(result.url, result.title || result.url)),
      el("p", { class: "result-facts" },
        outside(result.source, { class: "source" }),
        result.is_pdf && badge("info", "PDF"),
        mark,
        refusalBadge(result),
        result.published_date && el("span", { class: "quiet" }, day(result.published_date)),
        outside(result.url, { class: "url quiet" })),
      result.snippet && el("p", { class: "snippet", dir: "auto" }, outside(result.snippet)),
      refusalReason(result),
      explanation(result)),
    scoreBar(result, threshold));
  return { result, element, box, mark };
}
