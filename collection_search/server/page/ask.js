/** The form of a question, and the runs of the past. */

import { api } from "./api.js";
import { autoIngest } from "./auto_ingest.js";
import { el, fill } from "./dom.js";
import { usd } from "./format.js";
import { t, word } from "./i18n.js";
import { pastRuns } from "./runs_list.js";
import { draft, may, offer } from "./session.js";
import { recall, remember } from "./storage.js";
import { busy, clearFieldErrors, errorBox, field, fieldError, heading, limitLength, load, notice } from "./widgets.js";

const ESTIMATE_AFTER_MS = 500;
const IDS = {
  question: "question", collection_scope: "collection", purpose: "purpose",
  quality_mode: "quality-mode", provider: "provider", max_candidates: "max-candidates",
  auto_ingest_min_score: "auto-ingest-min-score", auto_ingest_top_k: "auto-ingest-top-k",
};

export function show(main, _, signal) {
  return load(main, async () => view(await offer({ fresh: true }), signal), signal);
}

function view(options, signal) {
  return el("div", { class: "two" },
    el("section", { class: "card wide-pad" }, heading(t("ask.title")),
      el("p", { class: "lead" }, t("ask.lead")),
      may("reviewer") ? questionForm(options, signal) : notice("info", t("ask.viewer"))),
    pastRuns(signal));
}

function questionForm(options, signal) {
  const { defaults } = options;
  const inputs = {
    question: el("textarea", {
      id: "question", rows: 3, required: true, autofocus: true, dir: "auto",
      placeholder: t("ask.example"), enterkeyhint: "search",
    }),
    collection_scope: el("input", {
      id: "collection", list: "collection-names", required: true, maxlength: 200,
      autocomplete: "off", dir: "auto", value: recall("collection") ?? options.collections[0] ?? "",
    }),
    purpose: el("input", { id: "purpose", required: true, value: defaults.purpose }),
    quality_mode: choice("quality-mode", options.quality_modes.map((name) => [name, word("quality", name)]),
      defaults.quality_mode),
    provider: choice("provider", providers(options), ""),
    max_candidates: el("input", {
      id: "max-candidates", type: "number", min: 5, max: 40, required: true,
      value: defaults.max_candidates,
    }),
  };
  const review = el("input", { type: "checkbox", id: "review" });
  const auto = autoIngest(defaults);
  const estimate = el("p", { id: "estimate", class: "estimate", "aria-live": "polite" });
  const problem = el("div", {});
  const submit = el("button", { class: "primary", type: "submit" }, t("ask.submit"));
  const known = el("span", { class: "hint", "aria-live": "polite" });
  const form = el("form", { id: "ask", novalidate: true },
    field(t("ask.question"), inputs.question, { hint: t("ask.enter") }),
    el("div", { class: "grid" },
      append2(field(t("ask.collection"), inputs.collection_scope), known),
      field(t("ask.provider"), inputs.provider, { hint: providerHint(options) })),
    el("datalist", { id: "collection-names" },
      options.collections.map((name) => el("option", { value: name }))),
    el("details", { class: "more" }, el("summary", {}, t("ask.more")),
      el("div", { class: "grid" },
        field(t("ask.quality"), inputs.quality_mode, { hint: t("ask.qualityHint") }),
        field(t("ask.candidates"), inputs.max_candidates, { hint: t("ask.candidatesHint") }),
        field(t("ask.purpose"), inputs.purpose, { hint: t("ask.purposeHint") }))),
    el("fieldset", { class: "after" }, el("legend", {}, t("ask.after")),
      el("label", { class: "check", for: "review" }, review,
        el("span", {}, t("ask.review"), el("small", {}, t("ask.reviewHint")))),
      auto.element),
    problem,
    el("div", { class: "row" }, submit, estimate));

  const payload = () => readForm(inputs, review, auto);
  const told = () => {
    const name = inputs.collection_scope.value.trim();
    known.textContent = !name || options.collections.includes(name) ? "" : t("ask.newCollection");
    auto.allow(!review.checked);
    limitLength(inputs.question);
  };
  restore(form);
  told();
  form.addEventListener("input", () => { keep(form); told(); });
  estimates(form, payload, estimate, signal);
  form.addEventListener("keydown", (event) => {
    const inText = event.target === inputs.question && !event.shiftKey && !event.isComposing;
    if (event.key !== "Enter" || !(inText || event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(submit, () => start(form, { payload, problem, signal }));
  });
  return form;
}

function append2(node, extra) {
  node.append(extra);
  return node;
}

function choice(id, pairs, chosen) {
  return el("select", { id }, pairs.map(([value, text, disabled = false]) =>
    el("option", { value, disabled, selected: value === chosen }, text)));
}

function providers(options) {
  const usable = options.providers.filter((each) => each.configured || each.is_default);
  const others = options.providers.filter((each) => !usable.includes(each));
  const chosen = options.providers.find((each) => each.is_default);
  return [
    ["", t("ask.automatic", { name: chosen?.title ?? options.defaults.provider })],
    ...usable.map((each) => [each.name, each.title]),
    ...others.map((each) => [each.name, t("ask.unconfigured", { name: each.title }), true]),
  ];
}

function providerHint(options) {
  return options.providers.find((each) => each.is_default)?.note || null;
}

function readForm(inputs, review, auto) {
  const input = {
    question: inputs.question.value.trim(),
    collection_scope: inputs.collection_scope.value.trim(),
    purpose: inputs.purpose.value.trim(),
    quality_mode: inputs.quality_mode.value,
    max_candidates: Number(inputs.max_candidates.value),
    ...(review.checked ? {} : auto.read()),
  };
  return {
    graph: review.checked ? "collection_review" : "collection_search", input,
    context: inputs.provider.value ? { provider: inputs.provider.value } : {},
  };
}

async function start(form, { payload, problem, signal }) {
  clearFieldErrors(form);
  fill(problem);
  const body = payload();
  const wrong = [...form.elements].find((input) => input.willValidate && !input.checkValidity());
  if (wrong) return point([[wrong.id, invalid(wrong)]]);
  try {
    const run = await api.post(["runs"], body);
    if (signal.aborted) return; // the past runs have it
    remember("collection", body.input.collection_scope);
    draft.clear();
    location.hash = `#/runs/${encodeURIComponent(run.run_id)}`;
  } catch (error) {
    const fields = error.fields ?? [];
    const unplaced = point(fields.map((each) =>
      [IDS[String(each.field).split(".").pop()], each.message]));
    if (!fields.length || unplaced) fill(problem, errorBox(error));
  }
}

/** Return what is wrong with a field, in the page's language. */
function invalid(input) {
  const { customError, valueMissing, tooLong } = input.validity;
  if (customError) return input.validationMessage;
  if (valueMissing && input.type !== "number") return t("invalid.missing");
  if (tooLong) return t("invalid.long", { most: input.maxLength });
  return t(input.step > 1 ? "invalid.steps" : "invalid.range", input);
}

/** Show errors at their fields, go to the first one, and return whether one has no field. */
function point(errors) {
  const placed = errors.filter(([id, message]) => id && fieldError(id, message));
  if (placed.length) {
    const first = document.getElementById(placed[0][0]);
    first.focus();
  }
  return placed.length < errors.length;
}

function estimates(form, payload, place, signal) {
  let timer = null;
  let last = null;
  const ask = async () => {
    const body = payload();
    last?.abort();
    if (!body.input.question || !body.input.collection_scope) return fill(place);
    last = new AbortController();
    const either = AbortSignal.any([signal, last.signal]);
    try {
      const found = await api.post(["estimate"], body.input, either, body.context);
      fill(place, costs(found));
    } catch {
      if (!either.aborted) fill(place); // the run itself will say what is wrong
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, ESTIMATE_AFTER_MS);
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
  ask();
}

function costs(found) {
  const unknown = found.unknown?.length > 0 && t("estimate.unknown", { names: found.unknown.join(", ") });
  if (!(found.high_usd > 0)) return unknown;
  const same = usd(found.low_usd) === usd(found.high_usd);
  return [same ? t("estimate.one", { usd: usd(found.high_usd) })
    : t("estimate.range", { low: usd(found.low_usd), high: usd(found.high_usd) }), " ", unknown];
}

function keep(form) {
  for (const input of form.elements) {
    if (input.id) draft.set(input.id, input.type === "checkbox" ? input.checked : input.value);
  }
}

function restore(form) {
  for (const input of form.elements) {
    if (!draft.has(input.id)) continue;
    if (input.type === "checkbox") input.checked = draft.get(input.id);
    else input.value = draft.get(input.id);
  }
  form.querySelector("#auto-ingest-toggle").dispatchEvent(new Event("change"));
}
