/** What this browser keeps: choices for good, the token as long as the tab is open. */

/** Return a kept choice, or null. */
export function recall(name) {
  return attempt(() => localStorage.getItem(`cs.${name}`));
}

/** Keep a choice; null forgets it. */
export function remember(name, value) {
  attempt(() => value === null
    ? localStorage.removeItem(`cs.${name}`) : localStorage.setItem(`cs.${name}`, value));
}

let unstored = null;

/** Return the token of this tab, or null. */
export function token() {
  return attempt(() => sessionStorage.getItem("cs.token")) ?? unstored;
}

/** Keep the token until the tab is closed; null forgets it. */
export function setToken(value) {
  unstored = value;
  attempt(() => value === null
    ? sessionStorage.removeItem("cs.token") : sessionStorage.setItem("cs.token", value));
}

function attempt(work) {
  try {
    return work();
  } catch {
    return null; // storage is closed in this browser: the page works without it
  }
}
