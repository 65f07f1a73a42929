/** The switch of automatic ingestion with its two options. Its captions are the specified ones. */

import { el } from "./dom.js";
import { t } from "./i18n.js";
import { field } from "./widgets.js";

/** Return the panel; it is off at first, and its options are shown only while it is on. */
export function autoIngest(defaults) {
  const toggle = el("input", {
    type: "checkbox", id: "auto-ingest-toggle", "aria-controls": "auto-ingest-options",
  });
  const score = el("input", {
    type: "number", id: "auto-ingest-min-score", min: 50, max: 100, step: 5,
    value: defaults.auto_ingest_min_score, required: true,
  });
  const top = el("input", {
    type: "number", id: "auto-ingest-top-k", min: 1, max: 20,
    value: defaults.auto_ingest_top_k, required: true,
  });
  const options = el("div", { class: "grid auto-options", id: "auto-ingest-options", hidden: true },
    field("Min. Score", score, { hint: "Score ≥60, Fallback ≥50", lang: "de" }),
    field("Top-K", top, { hint: "Max. URLs für Crawler", lang: "de" }),
    el("p", { class: "hint whole" }, t("auto.explained")));
  const why = el("small", {}, t("auto.hint"));
  const element = el("div", {},
    el("label", { class: "check", for: "auto-ingest-toggle" }, toggle,
      el("span", {}, "Auto-Ingest", why)), options);
  const draw = () => {
    const on = toggle.checked && !toggle.disabled;
    options.hidden = !on;
    score.disabled = !on;
    top.disabled = !on;
  };
  toggle.addEventListener("change", draw);
  draw();
  return {
    element,
    allow(allowed) {
      toggle.disabled = !allowed;
      why.textContent = t(allowed ? "auto.hint" : "auto.notWithReview");
      draw();
    },
    read() {
      if (!toggle.checked) return { auto_ingest: false };
      return {
        auto_ingest: true, auto_ingest_min_score: Number(score.value),
        auto_ingest_top_k: Number(top.value),
      };
    },
  };
}
