/** The form of the token, shown when the server asks for one. */

import { ApiError } from "./api.js";
import { el, fill } from "./dom.js";
import { t } from "./i18n.js";
import { identify } from "./session.js";
import { setToken, token } from "./storage.js";
import { busy, errorBox, field, heading } from "./widgets.js";

/** Show the form; `done()` is called when the server accepts the token. */
export function showSignIn(main, done) {
  const input = el("input", {
    id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true,
    autocapitalize: "off",
  });
  const problem = el("div", {}, token() !== null && errorBox(new Error(t("signIn.refused"))));
  const submit = el("button", { class: "primary" }, t("signIn.submit"));
  const form = el("form", { id: "sign-in", class: "card narrow" },
    heading(t("signIn.title")), el("p", { class: "lead" }, t("signIn.lead")),
    field(t("signIn.token"), input, { hint: t("signIn.hint") }), problem,
    el("p", {}, submit));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = input.value.trim();
    input.value = "";
    if (given) busy(submit, () => attempt(given, problem, input, done));
  });
  fill(main, form);
  input.focus();
}

const SENDABLE = /^[\x21-\x7e]+$/; // a header has no other characters: nothing would be sent

async function attempt(given, problem, input, done) {
  try {
    if (!SENDABLE.test(given)) throw new ApiError(401);
    setToken(given);
    await identify();
  } catch (error) {
    setToken(null);
    fill(problem, errorBox(error.status === 401 ? new Error(t("signIn.refused")) : error));
    input.focus();
    return;
  }
  done();
}
