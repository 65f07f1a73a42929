/** The progress of an ingestion: each page with its state, reasons of failure, and a retry. */

import { api } from "./api.js";
import { el, fill, outside, webLink } from "./dom.js";
import { when } from "./format.js";
import { t, word } from "./i18n.js";
import { may } from "./session.js";
import { follow } from "./stream.js";
import { badge, button, errorBox, toast } from "./widgets.js";

const KINDS = { stored: "good", dead: "bad", failed: "bad", retired: "off", working: "info" };

/**
 * Return the panel of a ticket; it follows the ticket until the signal ends it.
 *
 * `arrive`: the focus goes there when its view is shown; `done()` is called when all pages are done.
 */
export function ticketPanel(ticketId, signal, { arrive = false, done = () => {} } = {}) {
  const body = el("div", {});
  const panel = el("section", { id: "ticket", class: "card", dataset: { ticket: ticketId } },
    el("h2", { tabindex: "-1", dataset: arrive ? { arrive: "" } : {} }, t("ticket.title")), body);
  watch(ticketId, body, { signal, done });
  return panel;
}

async function watch(ticketId, body, { signal, done }) {
  const view = new TicketView(() => retry(ticketId, body, { signal, done }));
  try {
    view.draw(await api.get(["tickets", ticketId], {}, signal));
    const held = body.contains(document.activeElement); // by the button that asked for this
    fill(body, view.element);
    if (held) body.parentElement.querySelector("h2").focus({ preventScroll: true });
    if (view.isDone) return done(); // it may be done since the results were read
    const last = await follow(["tickets", ticketId, "events"], {
      signal, onEvent: (_, status) => view.draw(status),
      onState: (state) => view.connection(state),
    });
    if (last?.count !== undefined) view.draw(last);
    else view.draw(await api.get(["tickets", ticketId], {}, signal));
    done();
  } catch (error) {
    if (!signal.aborted) body.append(errorBox(error, () => watch(ticketId, body, { signal, done })));
  }
}

async function retry(ticketId, body, { signal, done }) {
  try {
    await api.post(["tickets", ticketId, "retry"], {}, signal);
    toast(t("ticket.retried"));
    watch(ticketId, body, { signal, done });
  } catch (error) {
    if (!signal.aborted) body.append(errorBox(error));
  }
}

class TicketView {
  #rows = new Map();
  #list = el("ul", { class: "pages" });
  #summary = el("p", { role: "status" });
  #meter = el("progress", { "aria-label": t("ticket.progress") });
  #lost = el("p", { class: "quiet", hidden: true }, t("connection.lost"));
  #actions = el("p", { class: "row" });

  constructor(again) {
    this.again = again;
    this.isDone = false;
    this.element = el("div", {}, this.#summary, this.#meter, this.#lost, this.#list, this.#actions);
  }

  draw(status) {
    const pending = status.pending + (status.to_fetch ?? 0);
    this.isDone = status.done ?? pending === 0;
    this.#meter.max = Math.max(1, status.count);
    this.#meter.value = status.count - pending;
    this.#summary.textContent = t("ticket.summary", {
      stored: status.stored, count: status.count, failed: status.failed, pending,
    });
    for (const page of status.documents ?? status.rows ?? []) this.#row(page);
    fill(this.#actions,
      status.failed > 0 && this.isDone && may("reviewer")
        && button(t("ticket.retry", { n: status.failed }), this.again),
      this.isDone && status.stored > 0 && el("a", {
        class: "button primary", href: `#/collections/${encodeURIComponent(status.collection)}`,
      }, t("ticket.ask")));
  }

  connection(state) {
    this.#lost.hidden = state === "open";
  }

  #row(page) {
    const known = this.#rows.get(page.url);
    const mark = JSON.stringify(page);
    if (known?.mark === mark) return;
    const element = el("li", { dataset: { url: page.url, state: page.state } },
      badge(KINDS[page.state] ?? "off", word("page", page.state)),
      el("div", {}, webLink(page.url, page.title || page.url),
        page.error && el("p", { class: "trouble" }, outside(page.error)),
        page.put_off_until && el("p", { class: "quiet" }, t("ticket.putOff"), " ", when(page.put_off_until))));
    if (known) known.element.replaceWith(element);
    else this.#list.append(element);
    this.#rows.set(page.url, { mark, element });
  }
}
