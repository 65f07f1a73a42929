/** What the server is set up with, and its keys. No key is ever shown. */

import { api } from "./api.js";
import { el, fill, outside } from "./dom.js";
import { number, usd } from "./format.js";
import { t, word } from "./i18n.js";
import { keysPanel } from "./keys.js";
import { caller, isOperator } from "./session.js";
import { badge, button, facts, heading, load } from "./widgets.js";

const KINDS = { ok: "good", failed: "bad", unchecked: "warn", off: "off" };

export function show(main, _, signal) {
  const place = el("div", { id: "findings" });
  const go = (check) => load(place, async () =>
    overview(await api.get(["settings"], { check: check ? "true" : null }, signal)), signal);
  fill(main,
    el("header", { class: "view-head" }, heading(t("settings.title")),
      el("p", { class: "lead" }, t("settings.lead")),
      isOperator() && el("p", { class: "row" },
        button(t("settings.check"), () => go(true), { id: "check-live" }),
        el("span", { class: "hint" }, t("settings.checkHint")))),
    place, isOperator() && keysPanel(signal));
  return go(false);
}

function overview(found) {
  const parts = [...new Set(found.findings.map((each) => each.part))];
  return [
    el("div", { class: "card" }, facts([
      [t("settings.tenant"), outside(found.tenant)], [t("settings.user"), outside(caller()?.user)],
      [t("settings.role"), word("role", caller()?.role)],
      [t("settings.home"), found.home && el("code", {}, outside(found.home))],
      [t("settings.searches"), found.provider && [outside(found.provider.name), " – ",
        outside(found.provider.reason)]],
      [t("settings.version"), caller()?.version],
    ])),
    parts.map((part) => section(part, found.findings.filter((each) => each.part === part))),
  ];
}

function section(part, findings) {
  const inUse = findings.filter((each) => each.state !== "off");
  const off = findings.filter((each) => each.state === "off");
  return el("section", { class: "card findings", dataset: { part } },
    el("h2", {}, word("component", part)),
    inUse.length > 0 && el("ul", {}, inUse.map(row)),
    off.length > 0 && (inUse.length && off.length > 1
      ? el("details", {}, el("summary", {}, t("settings.off", { n: off.length })), el("ul", {}, off.map(row)))
      : el("ul", {}, off.map(row))));
}

function row(each) {
  return el("li", { dataset: { finding: each.name } },
    badge(KINDS[each.state] ?? "off", word("state", each.state)),
    el("div", {},
      el("p", {}, el("strong", {}, outside(each.name)), " ",
        each.chosen && badge("info", t("settings.chosen"))),
      each.detail && el("p", {}, outside(each.detail)),
      el("p", { class: "quiet result-facts" },
        each.configured_by && el("span", {}, t("settings.from"), " ", outside(each.configured_by)),
        each.key && each.key !== "not needed" && el("span", {}, t("settings.key"), " ", word("key", each.key)),
        price(each.price),
        typeof each.quota_left === "number" && el("span", {},
          t("settings.quota", { n: number(each.quota_left), unit: each.quota_unit })),
        each.ends_on && el("span", {}, t("settings.ends", { day: each.ends_on }))),
      each.next_step && el("p", { class: "next" }, outside(each.next_step))));
}

function price(found) {
  if (!found) return null;
  if (!found.usd && !found.output_usd) return el("span", {}, t("price.free"));
  return el("span", {}, usd(found.usd), found.output_usd > 0 && ` / ${usd(found.output_usd)}`,
    " ", outside(found.per), found.seen && ` (${found.seen})`);
}
