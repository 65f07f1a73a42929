/** The stages of the graphs: titles, and what each counts. The titles are the product's names. */

const TITLES = {
  k_generate_strategy: "Strategy Generation",
  k_parallel_web_search: "Web Search",
  k_embedding_rank: "Embedding Rank",
  k_premium_rank: "Premium Rank",
  k_check_criteria: "Criteria",
  k_auto_ingest: "Auto-Ingest",
  k_hitl_gate: "Review",
  k_trigger_ingestion: "Ingestion",
  k_verify_coverage: "Coverage",
};

const COUNTS = {
  k_generate_strategy: ["query_count", "count.queries"],
  k_parallel_web_search: ["result_count", "count.pages"],
  k_embedding_rank: ["top_k_count", "count.ranked"],
  k_premium_rank: ["judged_count", "count.judged"],
  k_check_criteria: ["kept_count", "count.kept"],
  k_auto_ingest: ["count", "count.accepted"],
  k_hitl_gate: ["approved_count", "count.approved"],
  k_trigger_ingestion: ["count", "count.accepted"],
  k_verify_coverage: ["answered_count", "count.answered"],
};

const ALWAYS = {
  collection_search: [
    "k_generate_strategy", "k_parallel_web_search", "k_embedding_rank", "k_auto_ingest",
  ],
  collection_review: [
    "k_generate_strategy", "k_parallel_web_search", "k_embedding_rank", "k_hitl_gate",
    "k_trigger_ingestion", "k_verify_coverage",
  ],
};

/** Return the title of a node. */
export function stageTitle(node) {
  return TITLES[node] ?? node;
}

/** Return the nodes that a run of this graph shows from its start. */
export function stagesOf(graph) {
  return ALWAYS[graph] ?? ALWAYS.collection_search;
}

/** Return the place of a node among all; unknown ones come last. */
export function stageOrder(node) {
  const place = Object.keys(TITLES).indexOf(node);
  return place < 0 ? Infinity : place;
}

/** Return what a node's telemetry counts as [text key, number], or null. */
export function stageCount(node, telemetry) {
  const [fact, key] = COUNTS[node] ?? [];
  const n = telemetry[fact];
  return typeof n === "number" ? [key, n] : null;
}
