/** Who uses the page, and what the server offers. */

import { api } from "./api.js";
import { remember } from "./storage.js";

const RANKS = { viewer: 1, reviewer: 2, admin: 3 };
let me = null;
let options = null;

/** What was typed into the form of a question, while other views are shown. */
export const draft = new Map();

/** What was ticked and typed in open reviews, by the gate's id, while other views are shown. */
export const reviewDrafts = new Map();

/** Ask the server who calls. Raises ApiError. */
export async function identify() {
  me = await api.get(["me"]);
  return me;
}

/** Return the caller, or null before the server has told it. */
export function caller() {
  return me;
}

/** Forget the caller, what was offered to him and what he typed: another one may follow. */
export function forget() {
  me = null;
  options = null;
  draft.clear();
  reviewDrafts.clear();
  remember("collection", null);
}

/** Return whether the caller may do what needs this role. */
export function may(role) {
  return me !== null && (RANKS[me.role] ?? 0) >= RANKS[role];
}

/** Return whether the caller runs this server, whose keys and checks are not of one tenant. */
export function isOperator() {
  return me?.operator ?? false;
}

/** Return the server's offer: providers, defaults, stages, collections. */
export async function offer({ fresh = false } = {}) {
  if (options && !fresh) return options;
  const asking = me;
  const offered = await api.get(["options"]);
  if (me === asking) options = offered; // else somebody else uses the page by now
  return offered;
}
