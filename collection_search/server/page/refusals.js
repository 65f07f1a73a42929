/** Pages that criteria or rules refuse: a person may take them, one by one. */

import { el, outside } from "./dom.js";
import { t } from "./i18n.js";
import { badge } from "./widgets.js";

/** Return why a result or candidate is not taken unless a person ticks it; blank if it may be. */
export function reasonAgainst(page) {
  if (page.criteria?.refused) return page.criteria.reason || t("result.byCriteria");
  return page.explanation?.refused ?? "";
}

/** Return the mark of a page that is refused, or null. */
export function refusalBadge(page) {
  if (!reasonAgainst(page)) return null;
  return badge("bad", t(page.criteria?.refused ? "result.refused" : "result.refusedByRule"));
}

/** Return why a page is refused, as a paragraph, or null. */
export function refusalReason(page) {
  const reason = reasonAgainst(page);
  return reason ? el("p", { class: "trouble" }, outside(reason)) : null;
}
