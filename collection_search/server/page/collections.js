/** The tenant's collections. */

import { api } from "./api.js";
import { el, fill, outside } from "./dom.js";
import { bytes, number, when } from "./format.js";
import { t } from "./i18n.js";
import { badge, emptyUntilSearch, heading, load } from "./widgets.js";

export function show(main, _, signal) {
  const place = el("div", {});
  fill(main, el("header", { class: "view-head" }, heading(t("collections.title")),
    el("p", { class: "lead" }, t("collections.lead"))), place);
  return load(place, async () => {
    const { collections } = await api.get(["collections"], {}, signal);
    if (!collections.length) {
      return emptyUntilSearch(t("collections.none"), t("collections.noneHint"));
    }
    return el("ul", { id: "collections", class: "cards" }, collections.map(card));
  }, signal);
}

function card(one) {
  return el("li", { class: "card", dataset: { collection: one.name } },
    el("h2", {}, el("a", { href: `#/collections/${encodeURIComponent(one.name)}` }, outside(one.name))),
    el("p", { class: "figures" },
      el("strong", {}, number(one.documents)), " ", t("count.documentsWord", { n: one.documents }),
      el("span", { class: "quiet" }, ` · ${t("count.chunks", { n: one.chunks })}`),
      one.bytes > 0 && el("span", { class: "quiet" }, ` · ${bytes(one.bytes)}`)),
    el("p", { class: "result-facts" },
      one.open_gates > 0 && badge("warn", t("count.gates", { n: one.open_gates })),
      el("span", { class: "quiet" }, one.embedder ? outside(one.embedder) : t("collections.words")),
      one.updated_at && el("span", { class: "quiet" }, t("collections.updated"), " ", when(one.updated_at))));
}
