/** Calls of the API: JSON in and out, a bearer token, errors as one class. */

import { token } from "./storage.js";

const BASE = new URL("api/", document.baseURI);
const PATIENCE_MS = 180_000;

/** Told when the server wants a token, or another one. */
export const signInNeeded = new EventTarget();

/** An answer that is no success, or none at all (`status` 0). */
export class ApiError extends Error {
  constructor(status, body = {}) {
    const error = body?.error ?? {};
    super(error.message ?? (typeof body?.detail === "string" ? body.detail : ""));
    this.status = status;
    this.type = error.type ?? "";
    this.fields = error.fields ?? [];
  }
}

/** Return the address of a path below the API; each part is escaped, `query` may hold nulls. */
export function address(parts, query = {}) {
  const path = parts.map((part) => encodeURIComponent(part)).join("/");
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

/** Return the response of a call. Raises ApiError; a signal that ends the call raises AbortError. */
export async function send(method, url, { body, signal, headers = {}, patience } = {}) {
  const bearer = token();
  const limits = [signal, patience === null ? null : AbortSignal.timeout(patience ?? PATIENCE_MS)];
  let response;
  try {
    response = await fetch(url, {
      method,
      headers: {
        ...headers,
        ...(bearer ? { Authorization: `Bearer ${bearer}` } : {}),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.any(limits.filter(Boolean)),
      credentials: "omit", cache: "no-store", redirect: "error",
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, { error: { type: cause.name } });
  }
  if (response.ok) return response;
  if (response.status === 401) signInNeeded.dispatchEvent(new Event("needed"));
  throw new ApiError(response.status, await response.json().catch(() => ({})));
}

async function json(method, parts, options = {}) {
  const response = await send(method, address(parts, options.query), options);
  if (response.status === 204) return null;
  return response.json().catch((cause) => { // something between here and the server answered
    if (options.signal?.aborted) throw cause;
    throw new ApiError(0, { error: { type: cause.name } });
  });
}

export const api = {
  get: (parts, query, signal) => json("GET", parts, { query, signal }),
  post: (parts, body = {}, signal = undefined, query = {}) => json("POST", parts, { body, signal, query }),
  postLong: (parts, signal) => json("POST", parts, { body: {}, signal, patience: null }),
  put: (parts, body) => json("PUT", parts, { body }),
  delete: (parts, body) => json("DELETE", parts, { body }),
};
