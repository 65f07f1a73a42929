/** Keys of vendors, for the operator: set, try, remove. A key goes to the server and never comes back. */

import { api } from "./api.js";
import { el, fill, outside } from "./dom.js";
import { t, word } from "./i18n.js";
import { ask, badge, button, busy, errorBox, field, load, notice, toast } from "./widgets.js";

/** Return the panel of the keys. */
export function keysPanel(signal) {
  const place = el("div", {});
  const told = el("div", { "aria-live": "polite" });
  const again = () => load(place, async () => {
    const found = await api.get(["keys"], {}, signal);
    return [list(found, told, again), form(found, told, again)];
  }, signal);
  again();
  return el("section", { id: "keys", class: "card", "aria-labelledby": "keys-title" },
    el("h2", { id: "keys-title" }, t("keys.title")), el("p", { class: "quiet" }, t("keys.lead")),
    told, place);
}

function guard(told, work) {
  return async () => {
    fill(told);
    try {
      await work();
    } catch (error) {
      fill(told, errorBox(error));
    }
  };
}

function list(found, told, again) {
  if (!found.keys.length) return el("p", {}, t("keys.none"));
  return el("ul", { class: "keys" }, found.keys.map((each) => el("li", { dataset: { key: each.name } },
    el("div", {}, el("strong", {}, outside(each.name)), " ",
      el("span", { class: "quiet" }, outside(each.source), each.ending && [" · …", outside(each.ending)]),
      each.problem && el("p", { class: "trouble" }, outside(each.problem))),
    el("div", { class: "row" },
      button(t("keys.try"), guard(told, () => tryKey(each.name, told)), { class: "small" }),
      each.source === "keyring"
        && button(t("keys.remove"), guard(told, () => remove(each.name, again)), { class: "small" })))));
}

async function tryKey(name, told) {
  const finding = await api.post(["keys", name, "check"]);
  const good = finding.state === "ok" || finding.key === "valid";
  fill(told, notice(finding.state === "failed" ? "bad" : good ? "good" : "info",
    el("strong", {}, outside(name)), ": ", word("state", finding.state),
    finding.key && [" · ", word("key", finding.key)], finding.detail && [" · ", outside(finding.detail)]));
}

async function remove(name, again) {
  const sure = await ask({ title: t("keys.removeSure", { name }), yes: t("keys.remove"), danger: true });
  if (!sure) return;
  await api.delete(["keys", name]);
  toast(t("keys.removed"));
  await again();
}

function form(found, told, again) {
  if (!found.keyring.usable) {
    return notice("warn", t("keys.noKeyring"), " ", outside(found.keyring.reason));
  }
  const name = el("select", { id: "key-name" }, found.known.map((each) =>
    el("option", { value: each }, each)));
  const key = el("input", {
    id: "key-value", type: "password", autocomplete: "off", spellcheck: "false", required: true,
    autocapitalize: "off", "data-1p-ignore": true, "data-lpignore": "true",
  });
  const submit = el("button", { class: "primary" }, t("keys.set"));
  const node = el("form", { id: "key-form", class: "grid", autocomplete: "off" },
    field(t("keys.name"), name), field(t("keys.key"), key, { hint: t("keys.keyHint") }),
    el("p", { class: "whole" }, submit));
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    const secret = key.value.trim();
    key.value = "";
    if (!secret) return;
    busy(submit, guard(told, async () => {
      await api.put(["keys", name.value], { key: secret });
      toast(t("keys.kept"));
      await again();
    }));
  });
  return node;
}
