/** The coverage that a run verified in its end. */

import { queryList, share } from "./coverage.js";
import { el, outside } from "./dom.js";
import { t } from "./i18n.js";
import { notice } from "./widgets.js";

/** Return the section of a run's coverage. */
export function coverageReport(coverage) {
  const answered = coverage.queries.filter((one) => one.answered).length;
  const open = coverage.queries.length - answered;
  return el("section", { id: "coverage", class: "card", "aria-labelledby": "coverage-title" },
    el("h2", { id: "coverage-title" }, t("coverage.title")),
    coverage.error && notice("bad", outside(coverage.error)),
    el("p", {}, t("coverage.counts", { answered, open })), share(answered, open),
    queryList(coverage.queries),
    el("p", {}, el("a", {
      href: `#/collections/${encodeURIComponent(coverage.collection)}/coverage`,
    }, t("coverage.open"))));
}
