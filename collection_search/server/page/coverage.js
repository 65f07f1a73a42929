/** The dashboard of a collection: questions answered and open, freshness, cost, and its upkeep. */

import { api } from "./api.js";
import { el, fill, outside } from "./dom.js";
import { day, number, score, usdOf, when } from "./format.js";
import { t } from "./i18n.js";
import { may } from "./session.js";
import { ask, badge, button, emptyUntilSearch, errorBox, facts, load, notice, toast } from "./widgets.js";

const LOOK_MS = 2000;

/** Return the dashboard. */
export function coverageView(info, { signal, changed }) {
  const place = el("div", {});
  const told = el("div", { "aria-live": "polite" });
  const again = () => load(place, () => dashboard(info, { told, again, signal }), signal);
  again();
  return el("div", {}, upkeep(info, { told, again, changed, signal }), told, place);
}

function upkeep(info, { told, again, changed, signal }) {
  const guarded = (work) => async () => {
    fill(told);
    try {
      await work();
    } catch (error) {
      fill(told, errorBox(error));
    }
  };
  const refresh = guarded(async () => {
    fill(told, refreshed(await refreshing(info, told, signal)));
    await Promise.all([again(), changed()]);
  });
  return el("p", { class: "row" },
    may("reviewer") && button(t("coverage.refresh"), refresh, { id: "refresh" }),
    may("reviewer") && button(t("coverage.verifyAll"),
      guarded(() => verify(info, null, again)), { id: "verify" }),
    may("admin") && button(t("coverage.delete"), guarded(() => remove(info, signal)),
      { id: "delete-collection", class: "danger" }));
}

/** Start a refresh or join the one that runs, show how far it is, and return its report. */
async function refreshing(info, told, signal) {
  const far = el("span", {});
  fill(told, notice("info", t("coverage.refreshing"), " ", far));
  const timer = setInterval(async () => {
    const state = await api.get(["collections", info.name, "refresh"], {}, signal).catch(() => null);
    if (state?.total) far.textContent = t("coverage.refreshedSoFar", state);
  }, LOOK_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  try {
    return await api.postLong(["collections", info.name, "refresh"], signal);
  } finally {
    clearInterval(timer);
  }
}

async function dashboard(info, { told, again, signal }) {
  const found = await api.get(["collections", info.name, "coverage"], {}, signal);
  if (!found.questions.length) {
    return emptyUntilSearch(t("coverage.none"), t("coverage.noneHint"));
  }
  const sum = (name) => found.questions.reduce((all, each) => all + (each[name] ?? 0), 0);
  const [answered, open, unverified] = [sum("answered"), sum("open"), sum("unverified")];
  const { oldest, newest } = found.freshness ?? {};
  return [
    el("div", { class: "card dashboard" },
      el("div", { class: "big" },
        el("strong", {}, answered + open ? `${number(100 * answered / (answered + open))} %` : "–"),
        el("span", {}, t("coverage.answered")),
        share(answered, open)),
      facts([
        [t("coverage.queries"), [t("coverage.counts", { answered, open }),
          unverified > 0 && [", ", t("coverage.unverified", { n: unverified })]]],
        [t("collection.documents"), number(found.documents)],
        [t("coverage.freshness"), newest && [day(oldest), " – ", day(newest)]],
        [t("coverage.cost"), usdOf(found.cost_usd, found.cost_complete)],
      ])),
    el("ul", { id: "questions", class: "questions" }, found.questions.map((each) =>
      question(info, each, { told, again }))),
  ];
}

/** Return a bar of the answered part. */
export function share(answered, open) {
  const part = el("span", { class: "bar-fill" });
  part.style.inlineSize = `${answered + open ? (100 * answered) / (answered + open) : 0}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, part);
}

function question(info, each, { told, again }) {
  const check = async () => {
    fill(told);
    try {
      await verify(info, each.question, again);
    } catch (error) {
      fill(told, errorBox(error));
    }
  };
  return el("li", { class: "card", dataset: { question: each.question } },
    el("div", { class: "row spread" },
      el("h2", {}, outside(each.question)),
      may("reviewer") && button(t("coverage.verify"), check, {
        class: "small", "aria-label": `${t("coverage.verify")}: ${each.question}`,
      })),
    el("p", { class: "result-facts" }, el("span", { class: "quiet" }, t("coverage.asked"), " ", when(each.asked_at)),
      el("span", {}, t("coverage.counts", { answered: each.answered, open: each.open }),
        each.unverified > 0 && [", ", t("coverage.unverified", { n: each.unverified })])),
    each.queries?.length > 0 && queryList(each.queries));
}

/** Return queries with whether the collection answers them. */
export function queryList(queries) {
  return el("ul", { class: "queries" }, queries.map((one) => el("li", {},
    badge(one.answered ? "good" : one.answered === false ? "warn" : "off",
      t(one.answered ? "coverage.yes" : one.answered === false ? "coverage.no" : "coverage.unknown")),
    outside(one.query, { class: "query-text" }),
    typeof one.best_score === "number" && el("span", { class: "quiet" },
      t("answer.score", { score: score(one.best_score) })))));
}

async function verify(info, one, again) {
  await api.post(["collections", info.name, "coverage"], one ? { question: one } : {});
  toast(t("coverage.verified"));
  await again();
}

async function remove(info, signal) {
  const sure = await ask({
    title: t("coverage.deleteSure", { name: info.name }),
    text: t("coverage.deleteText", { n: info.documents }), yes: t("delete"), danger: true,
  });
  if (!sure) return;
  await api.delete(["collections", info.name]);
  toast(t("deleted"));
  dispatchEvent(new Event("gates-changed"));
  if (!signal.aborted) location.hash = "#/collections";
}

function refreshed(report) {
  const counts = ["new", "changed", "unchanged", "not_looked_at", "gone", "failed", "left"]
    .map((name) => [name, report[name]?.length ?? 0]);
  counts.push(["unreviewed", (report.questions ?? []).flatMap((one) => one.unreviewed).length]);
  const told = counts.filter(([, n]) => n > 0);
  if (!told.length) return notice("good", t("coverage.refreshStarted"));
  return notice("good", t("coverage.refreshed"), " ",
    told.map(([name, n]) => t(`refresh.${name}`, { n })).join(", "));
}
