/** The start of the page: who calls, and which view the address names. */

import { signInNeeded } from "./api.js";
import * as ask from "./ask.js";
import * as collection from "./collection.js";
import * as collections from "./collections.js";
import * as costs from "./costs.js";
import { el, fill } from "./dom.js";
import * as gate from "./gate.js";
import * as gates from "./gates.js";
import { countGates, drawHeader } from "./header.js";
import { locale, t } from "./i18n.js";
import * as run from "./run.js";
import { caller, forget, identify } from "./session.js";
import * as settings from "./settings.js";
import { showSignIn } from "./signin.js";
import { setToken } from "./storage.js";
import { closeDialogs, empty, errorBox } from "./widgets.js";

const ROUTES = [
  [/^\/?$|^\/ask$/, ask, "ask"],
  [/^\/runs\/(?<id>[^/]+)$/, run, "ask"],
  [/^\/reviews$/, gates, "reviews"],
  [/^\/reviews\/(?<id>[^/]+)$/, gate, "reviews"],
  [/^\/collections$/, collections, "collections"],
  [/^\/collections\/(?<id>[^/]+)(?:\/(?<part>coverage|documents))?$/, collection, "collections"],
  [/^\/settings$/, settings, "settings"],
  [/^\/costs$/, costs, "costs"],
];
const GATES_EVERY_MS = 60_000;

const main = document.getElementById("main");
let leaving = new AbortController();
let isFirst = true;

function place() {
  const [path, search = ""] = location.hash.replace(/^#/, "").split("?");
  for (const [form, view, name] of ROUTES) {
    const match = form.exec(path);
    if (!match) continue;
    const params = Object.fromEntries(Object.entries(match.groups ?? {})
      .map(([key, value]) => [key, value && decoded(value)]));
    return { view, name, params: { ...params, query: new URLSearchParams(search) } };
  }
  return { view: null, name: "", params: {} };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** End what the view that is shown still does. */
function leave() {
  leaving.abort();
  closeDialogs();
}

async function draw({ focus = true } = {}) {
  leave();
  leaving = new AbortController();
  const { signal } = leaving;
  const { view, name, params } = place();
  document.documentElement.lang = locale();
  document.title = `${name ? t(`nav.${name}`) : t("notFound.title")} – Collection Search`;
  drawHeader(name, { redraw: () => draw({ focus: false }), signOut });
  if (!caller()) return;
  try {
    if (view) await view.show(main, params, signal);
    else {
      fill(main, empty(t("notFound.title"), t("notFound.hint"),
        el("a", { class: "button", href: "#/ask" }, t("nav.ask"))));
    }
  } catch (error) {
    if (!signal.aborted && error.status !== 401) fill(main, errorBox(error, () => draw()));
  }
  if (signal.aborted) return;
  if (!main.querySelector("h1")) {
    main.prepend(el("h1", { class: "unseen", tabindex: "-1" }, t(name ? `nav.${name}` : "notFound.title")));
  }
  if (focus && !isFirst) {
    const arrival = main.querySelector("[data-arrive]");
    if (arrival) arrival.scrollIntoView({ block: "center" });
    else scrollTo(0, 0);
    (arrival ?? main.querySelector("h1") ?? main).focus({ preventScroll: true });
  }
  isFirst = false;
}

function signOut() {
  setToken(null);
  forget();
  signIn();
}

function signIn() {
  leave();
  forget();
  drawHeader("", { redraw: signIn, signOut });
  document.documentElement.lang = locale();
  document.title = `${t("signIn.title")} – Collection Search`;
  showSignIn(main, begin);
}

async function begin() {
  try {
    await identify();
  } catch (error) {
    if (error.status === 401) return; // the form is shown by now
    drawHeader("", { redraw: begin, signOut });
    fill(main, errorBox(error, begin));
    return;
  }
  countGates();
  await draw();
}

signInNeeded.addEventListener("needed", () => {
  if (!document.getElementById("sign-in")) signIn();
});
addEventListener("hashchange", () => {
  if (caller()) draw();
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names the view
  main.focus();
});
addEventListener("gates-changed", countGates);
setInterval(() => {
  if (caller() && document.visibilityState === "visible") countGates();
}, GATES_EVERY_MS);
document.documentElement.lang = locale();
begin();
