/** One run: its stages as they work, then its results to choose from. */

import { api } from "./api.js";
import { el, fill, outside } from "./dom.js";
import { duration, usdOf, when } from "./format.js";
import { t, word } from "./i18n.js";
import { coverageReport } from "./coverage_report.js";
import { crawlBar } from "./crawl_bar.js";
import { Pipeline } from "./pipeline.js";
import { ResultList } from "./results.js";
import { runBadge } from "./runs_list.js";
import { may } from "./session.js";
import { follow } from "./stream.js";
import { ticketPanel } from "./ticket.js";
import { ask, button, empty, errorBox, heading, load, notice } from "./widgets.js";

export function show(main, { id, query }, signal) {
  return load(main, async () => {
    const run = await api.get(["runs", id], {}, signal);
    return new RunView(run, query.get("ticket"), signal).element;
  }, signal);
}

const REMARKS = new Set(["strategy_fallback", "provider_fallback", "model_not_used"]);
const URGING = new Set(["search_completed", "auto_ingest_trigger_failed",
  "auto_ingest_failed_quality_threshold"]); // their texts tell a reviewer what to do
const ENDED = new Set(["done", "failed", "cancelled", "interrupted"]);

class RunView {
  #state = el("span", { id: "run-state", "aria-live": "polite" });
  #actions = el("div", { class: "row" });
  #banner = el("div", { "aria-live": "polite" });
  #outcome = el("div", {});
  #list = null;

  constructor(run, ticket, signal) {
    this.run = run;
    this.ticket = ticket;
    this.signal = signal;
    this.pipeline = new Pipeline(run, signal);
    this.element = el("article", { class: "run", dataset: { run: run.run_id } },
      el("header", { class: "view-head" },
        el("p", { class: "eyebrow" }, el("a", { href: "#/ask" }, t("run.back"))),
        heading(outside(run.question)),
        el("p", { class: "result-facts" }, this.#state,
          el("a", { href: `#/collections/${encodeURIComponent(run.collection)}` }, outside(run.collection)),
          el("span", { class: "quiet" }, when(run.created_at)),
          run.user && outside(run.user, { class: "quiet" })),
        this.#actions),
      this.#banner,
      el("section", { class: "card", "aria-label": t("pipeline.label") }, this.pipeline.element),
      this.#outcome);
    this.#draw();
    if (!ENDED.has(run.status)) this.#follow();
    else this.#settle(run);
  }

  async #follow() {
    try {
      await follow(["runs", this.run.run_id, "events"], {
        signal: this.signal,
        onEvent: (type, data) => this.#event({ type, ...data }),
        onState: (state) => this.#connection(state),
      });
      this.#settle(await api.get(["runs", this.run.run_id], {}, this.signal));
    } catch (error) {
      if (!this.signal.aborted) this.#tell(error, () => this.#follow());
    }
  }

  /** Tell an error; with 404 the run was deleted, and nothing of its state is true any more. */
  #tell(error, retry = null) {
    const isGone = error.status === 404;
    fill(this.#banner, errorBox(error, isGone ? null : retry));
    if (!isGone) return;
    this.pipeline.settle({ ...this.run, status: "deleted", output: null });
    if (this.#actions.contains(document.activeElement)) this.element.querySelector("h1").focus();
    this.#state.hidden = true;
    fill(this.#state);
    fill(this.#actions);
    fill(this.#outcome);
    dispatchEvent(new Event("gates-changed"));
  }

  #event(event) {
    if (event.run_id) return this.#became(event);
    this.pipeline.apply(event);
    if (event.type === "review_requested") {
      this.#became({ ...this.run, status: "waiting", gate_id: event.gate_id });
      dispatchEvent(new Event("gates-changed"));
    } else if (this.run.status === "waiting" && event.type === "node_finished") {
      this.#became({ ...this.run, status: "running" });
      dispatchEvent(new Event("gates-changed"));
    } else if (this.run.queued) this.#became({ ...this.run, queued: false });
  }

  #became(run) {
    this.run = run;
    this.#draw();
  }

  #connection(state) {
    if (state === "lost") fill(this.#banner, notice("warn", t("connection.lost")));
    else fill(this.#banner);
  }

  #draw() {
    const { run } = this;
    fill(this.#state, runBadge(run));
    const canStop = !ENDED.has(run.status) && may("reviewer");
    const held = this.#actions.contains(document.activeElement) && document.activeElement.id;
    fill(this.#actions,
      run.status === "waiting" && run.gate_id && may("reviewer") && el("a", {
        class: "button primary", href: `#/reviews/${encodeURIComponent(run.gate_id)}`,
      }, t("run.decide")),
      canStop && button(t("run.cancel"), () => this.#cancel(), { id: "cancel" }));
    if (held !== false) (document.getElementById(held) ?? this.element.querySelector("h1")).focus();
    if (run.status === "waiting") {
      fill(this.#outcome, notice("warn", t("run.waiting")));
    } else if (!ENDED.has(run.status)) fill(this.#outcome);
  }

  async #cancel() {
    const decides = this.run.status === "waiting" && {
      title: t("run.cancelSure"), text: t("run.cancelText"), yes: t("run.cancel"), danger: true,
    };
    if (decides && !(await ask(decides))) return;
    try {
      this.#became(await api.post(["runs", this.run.run_id, "cancel"]));
    } catch (error) {
      this.#tell(error);
    }
  }

  #settle(run) {
    this.pipeline.settle(run);
    this.#became(run);
    fill(this.#banner);
    if (!ENDED.has(run.status)) return;
    const ticket = this.ticket ?? run.output?.ingestion?.ticket;
    fill(this.#outcome, ended(run),
      ticket && ticketPanel(ticket, this.signal, {
        arrive: ticket === this.ticket, done: () => this.#markStored(),
      }),
      run.output?.coverage && coverageReport(run.output.coverage),
      run.output && this.#results(run));
  }

  /** Mark the results that are in the collection by now. */
  async #markStored() {
    const run = await api.get(["runs", this.run.run_id], {}, this.signal).catch(() => null);
    if (run) this.#list?.mark(run.result_facts ?? {});
  }

  #results(run) {
    const known = run.result_facts ?? {};
    const results = (run.output.results ?? []).map((each) => ({ ...each, ...known[each.url] }));
    if (!results.length) {
      if (!may("reviewer")) return empty(t("results.none"), t("empty.viewer"));
      const isFailed = run.output.outcome === "search_failed"; // other words would not help
      return empty(t("results.none"), t(isFailed ? "results.failedHint" : "results.noneHint"),
        el("a", { class: "button", href: "#/ask" }, t("run.askOther")));
    }
    const canTick = may("reviewer");
    const bar = canTick && crawlBar(run, () => list, this.signal);
    const list = new ResultList(results, {
      canTick, changed: () => bar && bar.update(),
      threshold: run.output.ingestion?.threshold ?? null,
    });
    this.#list = list;
    bar?.update?.();
    return el("section", { "aria-labelledby": "results-title" },
      el("h2", { id: "results-title" }, t("results.title", { n: results.length })),
      bar && bar.element, list.element);
  }
}

/** Return what a flag means in this run: a degraded ranking may have compared words instead. */
function told(flag, output) {
  const compared = output.results?.some((each) => each.explanation?.scale === "lexical");
  return word(flag === "embedding_degraded" && compared ? "words" : "flag", flag);
}

/** Return what became of a run: outcome, flags, provider and cost. */
function ended(run) {
  const { output } = run;
  const bad = run.status === "failed" || run.status === "interrupted";
  const telemetry = output?.telemetry;
  return el("div", { class: "ended", id: "outcome", dataset: { outcome: run.outcome ?? "" } },
    run.error && errorBox(new Error(run.error.message)),
    !run.error && bad && notice("bad", word("ended", run.status)),
    run.status === "cancelled" && notice("info", t("ended.cancelled")),
    run.outcome && (may("reviewer") || !URGING.has(run.outcome))
      && el("p", {}, word("explained", run.outcome)),
    output?.ingestion?.error && notice("bad", outside(output.ingestion.error.message)),
    output?.flags?.map((flag) => notice(REMARKS.has(flag) ? "info" : "warn", told(flag, output))),
    output?.search?.notices?.map((text) => notice("info", outside(text))),
    telemetry && el("p", { class: "quiet result-facts" },
      output.search?.provider && el("span", {}, t("run.searchedWith"), " ",
        outside(output.search.provider), output.search.provider_reason
          && [" (", outside(output.search.provider_reason), ")"]),
      el("span", {}, duration(telemetry.latency_ms)),
      el("span", {}, usdOf(telemetry.cost_usd, telemetry.cost_complete))));
}
