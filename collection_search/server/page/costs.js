/** What searches, models and embeddings cost. */

import { api } from "./api.js";
import { el, fill, outside } from "./dom.js";
import { number, usd, usdOf } from "./format.js";
import { t } from "./i18n.js";
import { empty, heading, load } from "./widgets.js";

const BY = ["day", "run", "name"];
const DAYS = [7, 30, 90, 365];
const MAX_RUNS = 500;

export function show(main, _, signal) {
  const place = el("div", {});
  const by = el("select", { id: "costs-by" }, BY.map((each) =>
    el("option", { value: each }, t(`costs.by.${each}`))));
  const days = el("select", { id: "costs-days" }, DAYS.map((each) =>
    el("option", { value: each, selected: each === 30 }, t("costs.lastDays", { n: each }))));
  const go = () => load(place, async () => {
    const group = by.value;
    const [found, kept] = await Promise.all([
      api.get(["costs"], { by: group, days: days.value }, signal),
      group === "run" ? keptRuns(signal) : null]);
    return table(found, group, kept);
  }, signal);
  by.addEventListener("change", go);
  days.addEventListener("change", go);
  fill(main, el("header", { class: "view-head" }, heading(t("costs.title")),
    el("p", { class: "lead" }, t("costs.lead"))),
    el("div", { class: "row" },
      el("label", { class: "inline" }, el("span", {}, t("costs.per")), by),
      el("label", { class: "inline" }, el("span", {}, t("costs.period")), days)),
    place);
  return go();
}

/** Return the ids of the runs that can be shown: those of commands and programs cost, too. */
async function keptRuns(signal) {
  const { runs } = await api.get(["runs"], { limit: MAX_RUNS }, signal);
  return new Set(runs.map((run) => run.run_id));
}

function table(found, by, kept) {
  if (!found.rows.length) return empty(t("costs.none"), t("costs.noneHint"));
  const most = Math.max(...found.rows.map((row) => row.cost_usd ?? 0), 0);
  return el("div", { class: "card scroll" }, el("table", { id: "costs" },
    el("caption", { class: "unseen" }, t("costs.title")),
    el("thead", {}, el("tr", {},
      el("th", { scope: "col" }, t(`costs.by.${by}`)), el("th", { scope: "col", class: "num" }, t("costs.calls")),
      el("th", { scope: "col", class: "num" }, t("costs.amount")), el("td", { class: "wide" }))),
    el("tbody", {}, found.rows.map((row) => el("tr", {},
      el("th", { scope: "row" }, name(row, kept)),
      el("td", { class: "num" }, number(row.calls ?? 0)),
      el("td", { class: "num" }, usdOf(row.cost_usd, row.complete)),
      el("td", { class: "wide" }, bar(row.cost_usd ?? 0, most))))),
    el("tfoot", {}, el("tr", {},
      el("th", { scope: "row", colspan: 2 }, t("costs.total")),
      el("td", { class: "num" }, usdOf(found.total_usd, found.complete)), el("td", { class: "wide" })))),
    !found.complete && el("p", { class: "quiet" }, t("costs.incomplete", { usd: usd(found.total_usd) })));
}

function name(row, kept) {
  const shown = outside(row.question ?? row.key);
  return kept?.has(row.key)
    ? el("a", { href: `#/runs/${encodeURIComponent(row.key)}` }, shown) : shown;
}

function bar(value, most) {
  const part = el("span", { class: "bar-fill" });
  part.style.inlineSize = `${most > 0 ? (100 * value) / most : 0}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, part);
}
