/** Server-sent events through fetch: the token goes in a header, a lost connection is resumed. */

import { ApiError, address, send } from "./api.js";

const SILENCE_MS = 45_000; // three times the server's comment lines that keep it alive
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
const UNSEEN_MS = 5_000; // a browser has six connections to a server: tabs out of sight give theirs back

/**
 * Follow a stream until its event `end`, and return that event's data.
 *
 * `onEvent(type, data)` gets each event once; `onState` gets "open" and "lost". A refusal (4xx)
 * raises ApiError, everything else is tried again, later each time: an event `error` too. Nothing is
 * followed while the tab is out of sight; what came meanwhile is told when it is shown again.
 */
export async function follow(parts, { onEvent, onState = () => {}, signal }) {
  let last = null;
  let failures = 0;
  for (;;) {
    try {
      for await (const event of connection(parts, last, signal, () => onState("open"))) {
        if (event.type === "error") break; // the answer to the next request says what is wrong
        failures = 0;
        last = event.id ?? last;
        if (event.type === "end") return event.data;
        onEvent(event.type, event.data);
      }
    } catch (error) {
      if (signal.aborted) throw error;
      const refused = error instanceof ApiError && error.status >= 400 && error.status < 500;
      if (refused && error.status !== 429 && error.status !== 408) throw error;
    }
    if (isUnseen()) {
      await seen(signal);
      continue;
    }
    onState("lost");
    failures += 1;
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
    await pause(wait * (0.75 + Math.random() / 2), signal);
  }
}

async function* connection(parts, last, signal, opened) {
  const silence = new AbortController();
  const both = AbortSignal.any([signal, silence.signal]);
  const lost = () => silence.abort();
  let alarm = setTimeout(lost, SILENCE_MS);
  let unseen = null;
  const look = () => {
    clearTimeout(unseen);
    if (isUnseen()) unseen = setTimeout(lost, UNSEEN_MS);
  };
  look();
  document.addEventListener("visibilitychange", look);
  addEventListener("offline", lost); // an open response says nothing of a network that is gone
  try {
    const response = await send("GET", address(parts), {
      signal: both, patience: null,
      headers: { Accept: "text/event-stream", ...(last === null ? {} : { "Last-Event-ID": last }) },
    });
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(alarm);
      alarm = setTimeout(lost, SILENCE_MS);
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop();
      yield* blocks.map(parsed).filter(Boolean);
    }
  } finally {
    clearTimeout(alarm);
    clearTimeout(unseen);
    document.removeEventListener("visibilitychange", look);
    removeEventListener("offline", lost);
    silence.abort();
  }
}

function isUnseen() {
  return document.visibilityState === "hidden";
}

/** Wait until the tab is shown. */
async function seen(signal) {
  const waiting = new AbortController();
  const until = { signal: waiting.signal };
  try {
    await new Promise((resolve, reject) => {
      document.addEventListener("visibilitychange", () => isUnseen() || resolve(), until);
      signal.addEventListener("abort", () => reject(signal.reason), until);
      if (signal.aborted) reject(signal.reason);
      else if (!isUnseen()) resolve();
    });
  } finally {
    waiting.abort();
  }
}

/** Return the event of a block of lines, or null for comments. */
function parsed(block) {
  const event = { id: null, type: "message", data: null };
  const data = [];
  for (const line of block.split("\n")) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (name === "data") data.push(value);
    else if (name === "event") event.type = value;
    else if (name === "id") event.id = value;
  }
  if (!data.length) return null;
  event.data = JSON.parse(data.join("\n"));
  return event;
}

/** Wait; the browser's news that it is online again ends it early. */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const finish = (settle, value) => {
      clearTimeout(timer);
      removeEventListener("online", early);
      signal.removeEventListener("abort", stop);
      settle(value);
    };
    const early = () => finish(resolve);
    const stop = () => finish(reject, signal.reason);
    const timer = setTimeout(early, ms);
    addEventListener("online", early);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
  });
}
