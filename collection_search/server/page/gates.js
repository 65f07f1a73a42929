/** The inbox: gates at which runs wait for a person, oldest first. */

import { api } from "./api.js";
import { decide } from "./decisions.js";
import { el, fill, outside } from "./dom.js";
import { score, when } from "./format.js";
import { showWaiting } from "./header.js";
import { t } from "./i18n.js";
import { reasonAgainst } from "./refusals.js";
import { may } from "./session.js";
import { badge, button, emptyUntilSearch, errorBox, heading, load, pager, withinList } from "./widgets.js";

const LIMIT = 50;

export function show(main, { query }, signal) {
  const place = el("div", { id: "gates-place" });
  fill(main, el("header", { class: "view-head" }, heading(t("gates.title")),
    el("p", { class: "lead" }, t(may("reviewer") ? "gates.lead" : "gates.leadToRead"))), place);
  const page = async (offset) => {
    const found = await api.get(["gates"], { offset, limit: LIMIT }, signal);
    showWaiting(found.total);
    if (!found.total) {
      return emptyUntilSearch(t("gates.none"), t("gates.noneHint"));
    }
    const within = withinList(offset, { total: found.total, limit: LIMIT });
    if (within !== offset) return page(within);
    return [
      el("p", { class: "quiet", role: "status" }, t("gates.count", { n: found.total })),
      el("ul", { id: "gates", class: "gates" }, found.gates.map((gate) => gateRow(gate, signal))),
      pager({ total: found.total, offset, limit: LIMIT, go }),
    ];
  };
  const go = (offset) => load(place, () => page(offset), signal);
  return go(Number(query.get("offset")) || 0);
}

function gateRow(gate, signal) {
  const open = t(may("reviewer") ? "gate.open" : "gate.read");
  const href = `#/reviews/${encodeURIComponent(gate.gate_id)}`;
  const problem = el("div", {});
  const quick = async () => {
    fill(problem);
    try {
      await approveAtThreshold(gate, signal);
    } catch (error) {
      fill(problem, errorBox(error));
    }
  };
  return el("li", { class: "card gate", dataset: { gate: gate.gate_id } },
    el("div", {},
      el("h2", {}, el("a", { href }, outside(gate.question))),
      el("p", { class: "result-facts" },
        badge("info", outside(gate.collection)),
        el("span", {}, t("count.candidates", { n: gate.candidate_count })),
        gate.round > 1 && el("span", {}, t("gate.round", { n: gate.round })),
        el("span", { class: "quiet" }, t("gate.opened"), " ", when(gate.opened_at)),
        deadline(gate)), problem),
    el("div", { class: "row" },
      may("reviewer") && button(t("gate.approveAt", { score: score(gate.threshold) }), quick,
        { class: "small" }),
      el("a", { class: "button small", href, "aria-label": `${open}: ${gate.question}` }, open)));
}

/** Return until when a gate waits, and what happens then. */
export function deadline(gate) {
  const policy = gate.policy ?? gate.deadline_policy;
  const late = new Date(gate.deadline).getTime() - Date.now() < 3_600_000;
  return el("span", { class: late && policy !== "keep_pending" ? "late" : "quiet" },
    t("gate.deadline"), " ", when(gate.deadline), ` · ${t(`policy.${policy}`)}`);
}

async function approveAtThreshold(row, signal) {
  const gate = await api.get(["gates", row.gate_id], {}, signal);
  const urls = gate.candidates
    .filter((each) => each.embedding_rank_score >= gate.threshold && !reasonAgainst(each))
    .map((each) => each.url);
  await decide(gate, { approved: urls, added: [], comment: "" }, signal);
}
