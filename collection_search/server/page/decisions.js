/** A person's decision about a gate: confirmed, sent, and the run followed. */

import { api } from "./api.js";
import { t } from "./i18n.js";
import { reviewDrafts } from "./session.js";
import { ask, toast } from "./widgets.js";

/** Approve these pages after a confirmation. `signal` ends with the view. Raises ApiError. */
export async function decide(gate, { approved, added, comment }, signal) {
  const n = approved.length + added.length;
  if (!n) {
    toast(t("gate.nothing"));
    return;
  }
  const sure = await ask({
    title: t("gate.sure", { n }), text: t("gate.sureText", { pages: describePages(gate, approved, added, "count.addedByYou") }),
    yes: t("gate.approve", { n }),
  });
  if (!sure) return;
  const all = approved.length === gate.candidates.length;
  await send(gate, signal, {
    status: all ? "approved" : "partial", approved_urls: approved, added_urls: added,
    ...(comment ? { comment } : {}),
  });
}

/** Return how many candidates are approved, and how many pages were added; `key` names these. */
export function describePages(gate, approved, added, key) {
  const chosen = t("count.chosen", { chosen: approved.length, n: gate.candidates.length });
  return added.length ? t("count.both", { chosen, added: t(key, { n: added.length }) }) : chosen;
}

/**
 * Reject all pages after a confirmation that asks why and begins with what was typed. Raises
 * ApiError.
 */
export async function reject(gate, typed, signal) {
  const comment = await ask({
    title: t("gate.rejectSure"), text: t("gate.rejectText"), yes: t("gate.reject"),
    danger: true, comment: typed,
  });
  if (comment === null) return;
  await send(gate, signal, { status: "rejected", ...(comment ? { comment } : {}) });
}

async function send(gate, signal, decision) {
  const answer = await api.post(["gates", gate.gate_id, "decision"], decision);
  reviewDrafts.delete(gate.gate_id);
  toast(t("gate.decided"));
  dispatchEvent(new Event("gates-changed"));
  if (signal.aborted) return;
  location.hash = answer?.run_id ? `#/runs/${encodeURIComponent(answer.run_id)}` : "#/reviews";
  if (!answer?.run_id) dispatchEvent(new HashChangeEvent("hashchange"));
}
