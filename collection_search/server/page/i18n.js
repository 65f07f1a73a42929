/** The page's texts in English and German. Texts of the server stay as it wrote them. */

import { de } from "./de.js";
import { visible } from "./dom.js";
import { en } from "./en.js";
import { recall, remember } from "./storage.js";

const TABLES = { en, de };
let language = chosen();
let plurals = new Intl.PluralRules(language);

/** Return the language's code. */
export function locale() {
  return language;
}

/** Take another language from now on, also after a reload. */
export function setLanguage(code) {
  remember("language", code);
  language = code in TABLES ? code : "en";
  plurals = new Intl.PluralRules(language);
  document.documentElement.lang = language;
}

/** Return a text; `{name}` in it is replaced by `values.name`, and `values.n` chooses the plural. */
export function t(key, values = {}) {
  const found = TABLES[language][key] ?? en[key] ?? key;
  const form = typeof found === "string" ? found : found[plurals.select(values.n)] ?? found.other;
  return form.replace(/\{(\w+)\}/g, (whole, name) => shown(values[name] ?? whole));
}

/** Return the text of a word of the server such as an outcome, or the word where there is none. */
export function word(kind, name) {
  const key = `${kind}.${name}`;
  return key in en ? t(key) : String(name).replaceAll("_", " ");
}

function shown(value) {
  return typeof value === "number" ? new Intl.NumberFormat(language).format(value) : visible(value);
}

function chosen() {
  const kept = recall("language");
  if (kept in TABLES) return kept;
  const wanted = navigator.languages ?? [navigator.language];
  return wanted.map((tag) => tag.slice(0, 2).toLowerCase()).find((code) => code in TABLES) ?? "en";
}
