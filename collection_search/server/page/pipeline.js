/** The stages of a run as they work: state, time, tokens, cost, and the queries with their results. */

import { el, fill, outside } from "./dom.js";
import { duration, number, usd } from "./format.js";
import { t } from "./i18n.js";
import { stageCount, stageOrder, stagesOf, stageTitle } from "./stages.js";
import { badge } from "./widgets.js";

const TICK_MS = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 200;
const TROUBLES = ["error", "failed_query_count", "gap_count"];

/** Draws a run's events. `element` is what the view shows. */
export class Pipeline {
  #stages = new Map();
  #queries = new Map();
  #list = el("ol", { id: "pipeline", class: "pipeline", "aria-label": t("pipeline.label") });
  #queryList = el("ul", { id: "queries", class: "queries" });
  #queryBox = el("section", { class: "query-box", hidden: true, "aria-label": t("queries.title") },
    el("h2", {}, t("queries.title")), this.#queryList);
  #progress = el("p", { class: "progress-line", hidden: true });
  #live = el("p", { class: "unseen", role: "status", "aria-live": "polite" });
  #timer = null;

  constructor(run, signal) {
    this.run = run;
    this.element = el("div", { class: "pipeline-box" },
      this.#list, this.#progress, this.#queryBox, this.#live);
    for (const node of stagesOf(run.graph)) this.#stage(node);
    if (run.graph === "collection_search" && !run.input?.auto_ingest) {
      this.#set("k_auto_ingest", "off");
    }
    signal.addEventListener("abort", () => clearInterval(this.#timer));
  }

  /** Draw one event of the run's stream. */
  apply(event) {
    const { type, node } = event;
    if (type === "node_started") this.#start(node);
    else if (type === "query_finished") this.#query(event.report);
    else if (type === "node_finished") this.#finish(node, event.telemetry);
    else if (type === "node_failed") this.#fail(node, event.error);
    else if (type === "node_paused" || type === "review_requested") this.#set(node, "paused");
    else if (type === "ingestion_progress") this.#tell(t("progress.stored", event));
    else if (type === "query_verified") {
      this.#tell(t(event.answered ? "progress.answered" : "progress.open", event));
    }
  }

  /** Draw the run as its record has it, in the end or instead of its events. */
  settle(run) {
    this.run = run;
    const output = run.output;
    for (const [node, telemetry] of Object.entries(output?.telemetry?.nodes ?? {})) {
      if (this.#stage(node).state !== "paused" || run.status !== "waiting") {
        this.#finish(node, telemetry, { quiet: true });
      }
    }
    for (const report of output?.search?.queries ?? []) this.#query(report, { quiet: true });
    for (const failure of output?.search?.errors ?? []) this.#failure(failure);
    const ended = run.status !== "running" && run.status !== "waiting";
    for (const [node, stage] of this.#stages) {
      if (ended && ["idle", "running", "paused"].includes(stage.state)) {
        this.#set(node, stage.state === "running" ? "stopped" : "skipped");
      }
    }
    this.#progress.hidden = ended;
    this.#live.textContent = ended ? t("run.ended") : "";
  }

  #stage(node) {
    let stage = this.#stages.get(node);
    if (stage) return stage;
    stage = {
      state: "idle", started: 0, telemetry: null,
      mark: el("span", { class: "stage-mark", "aria-hidden": "true" }),
      said: el("span", { class: "stage-state" }),
      figures: el("span", { class: "stage-figures" }),
      trouble: el("p", { class: "stage-trouble", hidden: true }),
    };
    stage.element = el("li", { class: "stage", dataset: { node, state: "idle" } },
      stage.mark, el("span", { class: "stage-title" }, stageTitle(node)),
      stage.said, stage.figures, stage.trouble);
    this.#stages.set(node, stage);
    const later = [...this.#list.children].find(
      (other) => stageOrder(other.dataset.node) > stageOrder(node));
    this.#list.insertBefore(stage.element, later ?? null);
    this.#set(node, "idle");
    return stage;
  }

  #set(node, state) {
    const stage = this.#stage(node);
    stage.state = state;
    stage.element.dataset.state = state;
    stage.said.textContent = t(`stage.${state}`);
    if (state === "running") stage.element.setAttribute("aria-current", "step");
    else stage.element.removeAttribute("aria-current");
  }

  #start(node) {
    this.#stage(node).started = performance.now();
    this.#set(node, "running");
    this.#live.textContent = t("live.started", { stage: stageTitle(node) });
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  #tick() {
    let running = 0;
    for (const stage of this.#stages.values()) {
      if (stage.state !== "running") continue;
      running += 1;
      fill(stage.figures, figure("time", duration(performance.now() - stage.started)));
    }
    if (running) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #finish(node, telemetry, { quiet = false } = {}) {
    const stage = this.#stage(node);
    const troubled = TROUBLES.some((key) => telemetry[key]);
    this.#set(node, troubled ? "warned" : "done");
    fill(stage.figures, figuresOf(node, telemetry));
    this.#trouble(stage, typeof telemetry.error === "string" ? telemetry.error : null);
    if (!quiet) {
      this.#live.textContent = t("live.finished", {
        stage: stageTitle(node), time: duration(telemetry.latency_ms ?? 0),
      });
      this.#progress.hidden = true;
    }
  }

  #fail(node, error) {
    this.#set(node, "failed");
    this.#trouble(this.#stage(node), error);
    this.#live.textContent = t("live.failed", { stage: stageTitle(node) });
  }

  #trouble(stage, text) {
    stage.trouble.hidden = !text;
    fill(stage.trouble, text && outside(text));
  }

  #query(report, { quiet = false } = {}) {
    const failed = report.decision === "error";
    const row = el("li", { dataset: { query: report.query } },
      outside(report.query, { class: "query-text" }),
      el("span", { class: "query-facts" },
        failed ? badge("bad", t("query.failed"))
          : t("count.pages", { n: report.result_count }),
        el("span", { class: "quiet" }, duration(report.latency_ms)),
        typeof report.quota_remaining === "number"
          && el("span", { class: "quiet" }, t("query.quota", { n: report.quota_remaining }))));
    const before = this.#queries.get(report.query);
    if (before) before.replaceWith(row);
    else this.#queryList.append(row);
    this.#queries.set(report.query, row);
    this.#queryBox.hidden = false;
    if (failed) this.#failure({ query: report.query, message: report.rationale });
    if (!quiet) {
      this.#live.textContent = t("live.query", { n: report.result_count, query: report.query });
    }
  }

  #failure(failure) {
    const row = this.#queries.get(failure.query);
    if (!row) return;
    row.querySelector(".query-why")?.remove();
    row.append(el("span", { class: "query-why" }, outside(failure.message || failure.rationale)));
  }

  #tell(text) {
    this.#progress.hidden = false;
    this.#progress.textContent = text;
  }
}

function figuresOf(node, telemetry) {
  const tokens = (telemetry.input_tokens ?? 0) + (telemetry.output_tokens ?? 0);
  const counted = stageCount(node, telemetry);
  const cost = telemetry.cost_usd;
  return [
    counted && figure("count", t(counted[0], { n: counted[1] })),
    telemetry.latency_ms !== undefined && figure("time", duration(telemetry.latency_ms)),
    tokens > 0 && figure("tokens", t("count.tokens", { n: tokens, shown: number(tokens) })),
    (cost === null || cost > 0) && figure("cost", usd(cost)),
    telemetry.fallback && figure("flag", t("stage.byRules")),
    telemetry.cached && figure("flag", t("stage.cached")),
  ];
}

function figure(kind, text) {
  return el("span", { class: `figure ${kind}` }, text);
}
