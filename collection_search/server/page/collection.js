/** One collection: ask it, see what it answers, see its documents. */

import { api } from "./api.js";
import { askPanel } from "./answer.js";
import { coverageView } from "./coverage.js";
import { documentsView } from "./documents.js";
import { el, fill, outside } from "./dom.js";
import { bytes, when } from "./format.js";
import { t } from "./i18n.js";
import { emptyUntilSearch, facts, heading, load } from "./widgets.js";

// Each gets the collection, and calls `changed` after what alters its figures.
const PARTS = { "": askPanel, coverage: coverageView, documents: documentsView };

export function show(main, { id, part = "", query }, signal) {
  return load(main, async () => {
    const info = await find(id, signal);
    if (!info) return missing(id);
    const top = el("div", {}, head(info));
    const changed = async () => {
      const now = await find(id, signal).catch(() => null);
      if (now && !signal.aborted) fill(top, head(Object.assign(info, now)));
    };
    const place = el("div", { class: "part" });
    fill(place, PARTS[part](info, { query, signal, changed }));
    return [top, parts(info, part), place];
  }, signal);
}

/** Return a collection, or null where there is none: a run names its own before a page is stored. */
function find(name, signal) {
  return api.get(["collections", name], {}, signal).catch((error) => {
    if (error.status === 404) return null;
    throw error;
  });
}

function missing(name) {
  return [title(name), emptyUntilSearch(t("collection.missing"), t("collection.missingHint"))];
}

function title(name, ...more) {
  return el("header", { class: "view-head" },
    el("p", { class: "eyebrow" }, el("a", { href: "#/collections" }, t("collection.back"))),
    heading(outside(name)), more);
}

function head(info) {
  return title(info.name,
    facts([
      [t("collection.documents"), el("span", { dataset: { figure: "documents" } }, t("count.documents", { n: info.documents }))],
      [t("collection.size"), info.bytes ? bytes(info.bytes) : t("count.chunks", { n: info.chunks })],
      [t("collection.searchedBy"), info.embedder ? outside(info.embedder) : t("collections.words")],
      [t("collection.updated"), info.updated_at && when(info.updated_at)],
      [t("collection.pending"), info.pending > 0 && t("count.documents", { n: info.pending })],
      [t("collection.failed"), info.failed > 0 && t("count.documents", { n: info.failed })],
    ]));
}

function parts(info, current) {
  const base = `#/collections/${encodeURIComponent(info.name)}`;
  return el("nav", { class: "tabs", "aria-label": t("collection.parts") },
    ["", "coverage", "documents"].map((part) => el("a", {
      href: part ? `${base}/${part}` : base, "aria-current": part === current && "page",
    }, t(`collection.part.${part || "ask"}`))));
}
