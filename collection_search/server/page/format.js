/** Figures, amounts and times as people of the chosen language write them. */

import { el } from "./dom.js";
import { locale, t } from "./i18n.js";

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** Return a number, with at most `digits` behind the point. */
export function number(value, digits = 0) {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);
}

/** Return a score of 0 to 100. */
export function score(value) {
  return value === null || value === undefined ? "–" : number(value, value < 100 ? 1 : 0);
}

/** Return a duration of so many milliseconds. */
export function duration(ms) {
  if (ms < 1) return "<1 ms";
  if (ms < 100) return `${number(ms)} ms`;
  if (ms < 60_000) return `${number(ms / 1000, 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${number(Math.floor(seconds / 60))} min ${number(seconds % 60)} s`;
}

/** Return an amount in US dollars; small ones with two figures. */
export function usd(value) {
  if (value === null || value === undefined) return t("price.unknown");
  const small = value > 0 && value < 0.1;
  return new Intl.NumberFormat(locale(), {
    style: "currency", currency: "USD", currencyDisplay: "narrowSymbol",
    ...(small ? { maximumSignificantDigits: 2 } : value === 0 ? { maximumFractionDigits: 0 } : {}),
  }).format(value);
}

/** Return an amount that may lack parts. */
export function usdOf(value, complete) {
  return complete === false ? t("price.atLeast", { usd: usd(value) }) : usd(value);
}

/** Return a size in bytes. */
export function bytes(value) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const step = value > 0 ? Math.min(3, Math.floor(Math.log10(value) / 3)) : 0;
  return new Intl.NumberFormat(locale(), {
    style: "unit", unit: units[step], maximumFractionDigits: step ? 1 : 0,
  }).format(value / 1000 ** step);
}

/** Return the moment that ISO text or seconds since 1970 name, or null. */
export function moment(value) {
  if (value === null || value === undefined || value === "") return null;
  const date = new Date(typeof value === "number" ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** Return an element with a time, as a distance from now if that is below a day. */
export function when(value, { relative = true } = {}) {
  const date = moment(value);
  if (!date) return el("span", {}, "–");
  const full = new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" });
  const seconds = (date.getTime() - Date.now()) / 1000;
  const near = relative && Math.abs(seconds) < DAY;
  return el("time", { datetime: date.toISOString(), title: full.format(date) },
    near ? distance(seconds) : full.format(date));
}

const DATE_ALONE = /^\d{4}-\d{2}-\d{2}$/;

/** Return an element with a day; a date without a time is the same day everywhere. */
export function day(value) {
  const date = moment(value);
  if (!date) return el("span", {}, "–");
  const zone = DATE_ALONE.test(value) ? { timeZone: "UTC" } : {};
  const form = new Intl.DateTimeFormat(locale(), { dateStyle: "medium", ...zone });
  return el("time", { datetime: date.toISOString().slice(0, 10) }, form.format(date));
}

function distance(seconds) {
  const form = new Intl.RelativeTimeFormat(locale(), { numeric: "auto" });
  const far = Math.abs(seconds);
  if (far < 45) return form.format(0, "second");
  if (far < HOUR) return form.format(Math.round(seconds / MINUTE) || Math.sign(seconds), "minute");
  return form.format(Math.round(seconds / HOUR), "hour");
}
