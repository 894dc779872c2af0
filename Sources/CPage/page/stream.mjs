// Reads an event stream of the tree: over fetch rather than EventSource, which hides the status of
// a refusal, cannot send a token and gives up for good on a 503.

/// Cuts a stream of text into events. `onEvent` is given name and data.
export class EventParser {
  #rest = [];
  #name = "";
  #data = [];

  constructor(onEvent) {
    this.onEvent = onEvent;
  }

  feed(text) {
    // A long line comes in many pieces: they are joined once.
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#rest.push(text.slice(start, end));
      start = end + 1;
      const line = this.#rest.length === 1 ? this.#rest[0] : this.#rest.join("");
      this.#rest = [];
      this.#take(line.endsWith("\r") ? line.slice(0, -1) : line);
    }
    if (start < text.length) this.#rest.push(text.slice(start));
  }

  #take(line) {
    if (line === "") {
      if (this.#name !== "" || this.#data.length > 0) this.onEvent(this.#name, this.#data.join("\n"));
      this.#name = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "event") this.#name = value;
    if (field === "data") this.#data.push(value);
  }
}

/// How long to wait before the attempt of this number, in milliseconds.
export function pause(attempt) {
  return Math.min(250 * 2 ** Math.min(attempt, 5), 4000);
}

/// The tree says at least every 30 s that it lives.
const silenceMax = 75_000;

/// A stream that is opened again until it is closed.
///
/// `on` has `event(name, path, data)`, and `state(state, reason)` with `open`, `waiting` or
/// `refused`: a refusal is tried again too, for rules and tokens change.
export class NodeStream {
  #abort = new AbortController();
  #attempt = 0;
  #timer = 0;
  #closed = false;

  constructor(url, headers, on) {
    this.url = url;
    this.headers = headers;
    this.on = on;
    this.#run();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#abort.abort();
  }

  async #run() {
    let state = "waiting";
    let reason = "the connection has ended";
    try {
      const refusal = await this.#read();
      if (refusal) [state, reason] = refusal;
    } catch (error) {
      reason = "the database does not answer";
    }
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.on.state(state, reason);
    this.#timer = setTimeout(() => {
      this.#abort = new AbortController();
      this.#run();
    }, pause(this.#attempt++));
  }

  /// Reads until the stream ends; why it was refused, where it was.
  async #read() {
    const headers = { ...this.headers, Accept: "text/event-stream" };
    const response = await fetch(this.url, { headers, signal: this.#abort.signal, cache: "no-store" });
    if (!response.ok) return [response.status < 500 ? "refused" : "waiting", await wordsOf(response)];
    let cancelled = null;
    const parser = new EventParser((name, text) => {
      if (this.#closed) return;
      if (name === "put" || name === "patch") {
        const { path, data } = JSON.parse(text);
        this.on.event(name, path, data);
      } else if (name === "cancel" || name === "auth_revoked") {
        cancelled = ["refused", name === "cancel" ? "the rules no longer allow it" : "the token has expired"];
      }
    });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    this.on.state("open", "");
    while (true) {
      this.#expectLife();
      const { done, value } = await reader.read();
      if (done) return cancelled;
      this.#attempt = 0;
      parser.feed(decoder.decode(value, { stream: true }));
      if (cancelled) {
        this.#abort.abort();
        return cancelled;
      }
    }
  }

  #expectLife() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort.abort(), silenceMax);
  }
}

/// What a refusal says.
export async function wordsOf(response) {
  const text = await response.text().catch(() => "");
  try {
    return JSON.parse(text).error ?? `status ${response.status}`;
  } catch {
    return `status ${response.status}`;
  }
}
