/** One gate: its candidates to tick, pages to add, a comment, and the decision. */

import { api } from "./api.js";
import { drawDecision } from "./decided.js";
import { decide, reject } from "./decisions.js";
import { el, fill, outside, webAddress } from "./dom.js";
import { score } from "./format.js";
import { deadline } from "./gates.js";
import { t } from "./i18n.js";
import { reasonAgainst } from "./refusals.js";
import { ResultList } from "./results.js";
import { may, reviewDrafts } from "./session.js";
import { badge, button, errorBox, field, fieldError, heading, load, notice } from "./widgets.js";

const MAX_ADDED = 50;
const SEVERAL = /\s|[,;]https?:/i; // two addresses in a line would be the one of no page

export function show(main, { id }, signal) {
  return load(main, async () => view(await api.get(["gates", id], {}, signal), signal), signal);
}

function view(gate, signal) {
  const open = (gate.state ?? "open") === "open";
  const canTick = open && may("reviewer");
  const good = (each) => each.embedding_rank_score >= gate.threshold && !reasonAgainst(each);
  const bar = canTick && decisionBar(gate, () => list, { good, signal });
  const left = reviewDrafts.get(gate.gate_id);
  const list = new ResultList(gate.candidates, {
    canTick, isTicked: left ? (each) => left.chosen.includes(each.url) : good, threshold: gate.threshold, changed: () => bar && bar.changed(),
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
        open && deadline(gate)),
      gate.threshold_reason && el("p", { class: "quiet" }, outside(gate.threshold_reason))),
    !open && [notice("info", t("gate.closed")), drawDecision(gate)],
    bar && bar.element, el("h2", { class: "unseen" }, t("gate.candidates")), list.element);
}

function decisionBar(gate, list, { good, signal }) {
  const problem = el("div", {});
  const count = el("span", { class: "count", "aria-live": "polite" });
  const left = reviewDrafts.get(gate.gate_id) ?? { added: "", comment: "" };
  const added = el("textarea", {
    id: "added-urls", rows: 2, placeholder: "https://…", spellcheck: "false", ".value": left.added,
  });
  const comment = el("textarea", {
    id: "gate-comment", rows: 2, maxlength: 2000, dir: "auto", ".value": left.comment,
  });
  const guarded = (work) => async () => {
    fill(problem);
    try {
      await work();
    } catch (error) {
      fill(problem, errorBox(error));
    }
  };
  const approve = button("", guarded(() => {
    const given = { ...readPages(gate, list(), added), comment: comment.value.trim() };
    return checkAdded(added, given.added) && decide(gate, given, signal);
  }), { class: "primary", id: "approve" });
  const element = el("div", { class: "bar-of-actions" },
    el("div", { class: "row" },
      button(t("select.at", { score: score(gate.threshold) }), () => list().tick(good),
        { class: "small", id: "select-threshold" }),
      button(t("select.all"), () => list().tickAll(), { class: "small", id: "select-all" }),
      button(t("select.none"), () => list().tick(() => false), { class: "small", id: "select-none" }),
      count),
    el("div", { class: "row" }, approve,
      button(t("gate.reject"), guarded(() => reject(gate, comment.value, signal)),
        { id: "reject", class: "danger" })),
    el("details", { class: "more whole", open: Boolean(left.added || left.comment) }, el("summary", {}, t("gate.more")),
      el("div", { class: "grid" },
        field(t("gate.add"), added, { hint: t("gate.addHint", { n: MAX_ADDED }) }),
        field(t("gate.comment"), comment, { hint: t("gate.commentHint") }))),
    problem);
  const update = () => {
    const pages = readPages(gate, list(), added);
    const n = pages.approved.length + pages.added.length;
    count.textContent = t("select.count", { n: list().chosen.length, all: list().size });
    approve.textContent = t("gate.approve", { n });
    approve.disabled = n === 0;
  };
  const changed = () => {
    update();
    reviewDrafts.set(gate.gate_id,
      { chosen: list().chosen, added: added.value, comment: comment.value });
  };
  for (const input of [added, comment]) input.addEventListener("input", changed);
  return { element, update, changed };
}

/** Return the approved candidates and the further pages; the address of a candidate is approved. */
function readPages(gate, list, input) {
  const lines = new Set(input.value.split("\n").map((line) => line.trim()).filter(Boolean));
  const chosen = new Set(list.chosen);
  const candidates = gate.candidates.map((each) => each.url);
  return {
    approved: candidates.filter((url) => chosen.has(url) || lines.has(url)),
    added: [...lines].filter((url) => !candidates.includes(url)),
  };
}

/** Return whether these addresses may be added; the field tells which one is wrong. */
function checkAdded(input, urls) {
  const wrong = urls.find((url) => SEVERAL.test(url) || !webAddress(url));
  if (!wrong && urls.length <= MAX_ADDED) return true;
  fieldError(input.id, wrong ? t("gate.badUrl", { url: wrong }) : t("gate.addHint", { n: MAX_ADDED }));
  input.focus();
  return false;
}
