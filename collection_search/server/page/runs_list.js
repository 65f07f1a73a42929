/** The runs of the past, newest first. */

import { api } from "./api.js";
import { el, outside } from "./dom.js";
import { when } from "./format.js";
import { t, word } from "./i18n.js";
import { may } from "./session.js";
import { badge, empty, load } from "./widgets.js";

const KINDS = { running: "info", waiting: "warn", done: "good", failed: "bad" };
const BAD_ENDS = /failed|no_candidates|rejected|incomplete/;

/** Return a mark of how a run stands. */
export function runBadge(run) {
  if (run.queued) return badge("off", t("run.queued"));
  if (run.status === "done" && run.outcome) {
    return badge(BAD_ENDS.test(run.outcome) ? "warn" : "good", word("outcome", run.outcome));
  }
  return badge(KINDS[run.status] ?? "off", word("status", run.status));
}

/** Return the section with the past runs. */
export function pastRuns(signal) {
  const place = el("div", {});
  load(place, async () => {
    const { runs } = await api.get(["runs"], { limit: 20 }, signal);
    if (!runs.length) return empty(t("runs.none"), t(may("reviewer") ? "runs.noneHint" : "empty.viewer"));
    return el("ul", { class: "runs" }, runs.map((run) => el("li", { dataset: { run: run.run_id } },
      el("a", { href: `#/runs/${encodeURIComponent(run.run_id)}` }, outside(run.question)),
      el("p", { class: "result-facts" }, runBadge(run),
        outside(run.collection, { class: "quiet" }), el("span", { class: "quiet" }, when(run.created_at))))));
  }, signal);
  return el("section", { class: "past", "aria-labelledby": "past-title" },
    el("h2", { id: "past-title" }, t("runs.title")), place);
}
