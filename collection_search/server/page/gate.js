/** One gate: its candidates to tick, pages to add, a comment, and the decision. */

import { api } from "./api.js";
import { decide, reject } from "./decisions.js";
import { el, fill, outside, webAddress } from "./dom.js";
import { score } from "./format.js";
import { deadline } from "./gates.js";
import { t } from "./i18n.js";
import { ResultList } from "./results.js";
import { may } from "./session.js";
import { badge, button, errorBox, field, fieldError, heading, load, notice } from "./widgets.js";

const MAX_ADDED = 50;

export function show(main, { id }, signal) {
  return load(main, async () => view(await api.get(["gates", id], {}, signal), signal), signal);
}

function view(gate, signal) {
  const open = (gate.state ?? "open") === "open";
  const canTick = open && may("reviewer");
  const good = (each) => each.embedding_rank_score >= gate.threshold && !each.criteria?.refused;
  const bar = canTick && decisionBar(gate, () => list, { good, signal });
  const list = new ResultList(gate.candidates, {
    canTick, isTicked: good, threshold: gate.threshold, changed: () => bar && bar.update(),
  });
  if (bar) bar.update();
  return el("article", { class: "review", dataset: { gate: gate.gate_id } },
    el("header", { class: "view-head" },
      el("p", { class: "eyebrow" }, el("a", { href: "#/reviews" }, t("gate.back"))),
      heading(outside(gate.question)),
      el("p", { class: "result-facts" }, badge("info", outside(gate.collection)),
        el("span", {}, t("count.candidates", { n: gate.candidates.length })),
        gate.round > 1 && el("span", {}, t("gate.round", { n: gate.round })),
        el("span", {}, t("gate.threshold", { score: score(gate.threshold) })),
        deadline(gate)),
      gate.threshold_reason && el("p", { class: "quiet" }, outside(gate.threshold_reason))),
    !open && notice("info", t("gate.closed")),
    bar && bar.element, el("h2", { class: "unseen" }, t("gate.candidates")), list.element);
}

function decisionBar(gate, list, { good, signal }) {
  const problem = el("div", {});
  const count = el("span", { class: "count", "aria-live": "polite" });
  const added = el("textarea", { id: "added-urls", rows: 2, placeholder: "https://…", spellcheck: "false" });
  const comment = el("textarea", { id: "gate-comment", rows: 2, maxlength: 2000, dir: "auto" });
  const guarded = (work) => async () => {
    fill(problem);
    try {
      await work();
    } catch (error) {
      fill(problem, errorBox(error));
    }
  };
  const approve = button("", guarded(() => {
    const urls = addedUrls(added);
    const given = { approved: list().chosen, added: urls, comment: comment.value.trim() };
    return urls && decide(gate, given, signal);
  }), { class: "primary", id: "approve" });
  const element = el("div", { class: "bar-of-actions" },
    el("div", { class: "row" },
      button(t("select.at", { score: score(gate.threshold) }), () => list().tick(good),
        { class: "small", id: "select-threshold" }),
      button(t("select.all"), () => list().tick(() => true), { class: "small", id: "select-all" }),
      button(t("select.none"), () => list().tick(() => false), { class: "small", id: "select-none" }),
      count),
    el("div", { class: "row" }, approve,
      button(t("gate.reject"), guarded(() => reject(gate, signal)), { id: "reject", class: "danger" })),
    el("details", { class: "more whole" }, el("summary", {}, t("gate.more")),
      el("div", { class: "grid" },
        field(t("gate.add"), added, { hint: t("gate.addHint", { n: MAX_ADDED }) }),
        field(t("gate.comment"), comment, { hint: t("gate.commentHint") }))),
    problem);
  const update = () => {
    const chosen = list().chosen.length;
    const extra = lines(added).length;
    count.textContent = t("select.count", { n: chosen, all: list().size });
    approve.textContent = t("gate.approve", { n: chosen + extra });
    approve.disabled = chosen + extra === 0;
  };
  added.addEventListener("input", update);
  return { element, update };
}

function lines(input) {
  return input.value.split("\n").map((line) => line.trim()).filter(Boolean);
}

/** Return the URLs that were added, or null after telling which one is wrong. */
function addedUrls(input) {
  const urls = lines(input);
  const wrong = urls.find((url) => !webAddress(url));
  if (!wrong && urls.length <= MAX_ADDED) return urls;
  fieldError(input.id, wrong ? t("gate.badUrl", { url: wrong }) : t("gate.addHint", { n: MAX_ADDED }));
  input.focus();
  return null;
}
