/** The decision of a review that is over: who decided what, when and why, and for how many pages. */

import { describePages } from "./decisions.js";
import { el, outside } from "./dom.js";
import { when } from "./format.js";
import { t, word } from "./i18n.js";
import { facts } from "./widgets.js";

/** Return the decision in force, or null where none is known. */
export function drawDecision(gate) {
  const { decision } = gate;
  if (!decision) return null;
  const { status, approved_urls: approved, added_urls: added, comment } = decision;
  return el("section", { id: "decision", class: "card", "aria-label": t("decided.label") }, facts([
    [t("decided.label"), word("decision", status)],
    [t("decided.by"), nameDecider(decision)],
    [t("decided.when"), when(decision.decided_at)],
    [t("decided.pages"), describePages(gate, approved, added, "count.added")],
    [t("gate.comment"), comment ? outside(comment) : null],
  ]));
}

function nameDecider({ decided_by: by, approver }) {
  return by === "person" && approver ? outside(approver) : word("decider", by);
}
