/** The top of the page: where one is, who one is, language and theme. */

import { api } from "./api.js";
import { el, fill, outside } from "./dom.js";
import { locale, setLanguage, t, word } from "./i18n.js";
import { caller } from "./session.js";
import { recall, remember, token } from "./storage.js";
import { button } from "./widgets.js";

const VIEWS = ["ask", "reviews", "collections", "costs", "settings"];
const THEMES = ["auto", "light", "dark"];
let waiting = 0;

/** Draw the top; `current` names the view, `redraw` and `signOut` are called by its buttons. */
export function drawHeader(current, { redraw, signOut }) {
  document.getElementById("skip").textContent = t("skip");
  const me = caller();
  fill(document.getElementById("top"), el("div", { class: "top-in" },
    el("a", { class: "brand", href: "#/ask" },
      el("img", { src: "icon.svg", alt: "", width: 24, height: 24 }),
      el("span", {}, "Collection Search")),
    me && el("nav", { class: "views", "aria-label": t("nav.label") }, VIEWS.map((view) => el("a", {
      href: `#/${view}`, "aria-current": view === current && "page",
    }, t(`nav.${view}`), view === "reviews" && count()))),
    el("div", { class: "top-end" },
      me && el("span", { class: "who", id: "who", title: word("role", me.role) },
        outside(me.user), el("span", { class: "quiet" }, " · ", outside(me.tenant))),
      language(redraw), theme(),
      me?.auth && token() && button(t("signOut"), signOut, { class: "small", id: "sign-out" }))));
}

function count() {
  return el("span", { class: "dot", id: "waiting-count", hidden: waiting === 0 },
    el("span", { "aria-hidden": "true" }, waiting > 99 ? "99+" : waiting),
    el("span", { class: "unseen" }, t("count.gates", { n: waiting })));
}

/** Ask how many gates wait, and show it. */
export async function countGates() {
  try {
    showWaiting((await api.get(["gates"], { limit: 1 })).total);
  } catch {
    // the view itself tells what is wrong with the server
  }
}

/** Show how many gates wait. */
export function showWaiting(n) {
  waiting = n;
  document.getElementById("waiting-count")?.replaceWith(count());
}

function language(redraw) {
  const select = el("select", { id: "language", "aria-label": t("language") },
    [["en", "English"], ["de", "Deutsch"]].map(([code, name]) =>
      el("option", { value: code, selected: code === locale(), lang: code }, name)));
  select.addEventListener("change", () => {
    setLanguage(select.value);
    redraw();
    document.getElementById("language").focus();
  });
  return select;
}

function theme() {
  const current = recall("theme") ?? "auto";
  const select = el("select", { id: "theme", "aria-label": t("theme") }, THEMES.map((name) =>
    el("option", { value: name, selected: name === current }, t(`theme.${name}`))));
  select.addEventListener("change", () => {
    const chosen = select.value === "auto" ? null : select.value;
    remember("theme", chosen);
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
  });
  return select;
}
