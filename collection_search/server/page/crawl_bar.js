/** The bar above the results: what is ticked, and its way into a collection. */

import { api } from "./api.js";
import { el, fill } from "./dom.js";
import { t } from "./i18n.js";
import { busy, button, errorBox, fieldError } from "./widgets.js";

/** Return the bar of a run's results; `list()` returns the list that is ticked. */
export function crawlBar(run, list, signal) {
  const count = el("span", { class: "count", "aria-live": "polite" });
  const collection = el("input", {
    id: "crawl-collection", value: run.collection, maxlength: 200, required: true, dir: "auto",
    "aria-label": t("crawl.collection"), "aria-describedby": "crawl-collection-error",
    autocomplete: "off",
  });
  const problem = el("div", {});
  const crawl = el("button", { type: "button", id: "crawl-selected", class: "primary" }, t("crawl.submit"));
  crawl.addEventListener("click", () => busy(crawl, () =>
    start(run, list(), { collection, problem, signal })));
  const element = el("div", { class: "bar-of-actions" },
    el("div", { class: "row" },
      button(t("select.all"), () => list().tickAll(), { class: "small", id: "select-all" }),
      button(t("select.none"), () => list().tick(() => false), { class: "small", id: "select-none" }),
      count),
    el("div", { class: "row" },
      el("label", { class: "inline" }, el("span", {}, t("crawl.into")), collection),
      el("span", { class: "field-error", id: "crawl-collection-error", hidden: true }), crawl),
    problem);
  return {
    element,
    update() {
      const n = list().chosen.length;
      count.textContent = t("select.count", { n, all: list().size });
      crawl.disabled = n === 0;
    },
  };
}

async function start(run, list, { collection, problem, signal }) {
  fill(problem);
  const name = collection.value.trim();
  if (!name) {
    fieldError(collection.id, t("crawl.nameNeeded"));
    collection.focus();
    return;
  }
  try {
    const ticket = await api.post(["ingestions"], {
      collection: name, run_id: run.run_id, urls: list.chosen,
    });
    if (signal.aborted) return;
    location.hash = `#/runs/${encodeURIComponent(run.run_id)}?ticket=${encodeURIComponent(ticket.ticket_id)}`;
  } catch (error) {
    fill(problem, errorBox(error));
  }
}
