// The page's other thread: reads the streams, keeps the mirrors and tells the page what to show, in
// pieces small enough that it never stutters. At most three streams are open: the conversations'
// states, the chosen conversation's answers, and the node that the pane watches.

import { Mirror, child, childNames } from "./mirror.mjs";
import { Places } from "./places.mjs";
import { NodeStream } from "./stream.mjs";
import { Transcript } from "./transcript.mjs";
import { Pane } from "./pane.mjs";

const listSlice = 1000;
const textSlice = 16_384;

let places;
let list = null;
let chat = null;
const pane = new Pane((message) => postMessage(message));

const take = {
  start({ search, token }) {
    places = new Places(search);
    places.token = token;
    list = new ListFeed();
    pane.start(places);
  },
  token({ token }) {
    places.token = token;
    list.close();
    list = new ListFeed();
    if (chat) take.choose({ id: chat.id });
    pane.reload();
  },
  choose({ id }) {
    chat?.close();
    chat = new ChatFeed(id);
    pane.follow(chat.mirror, ["streaming", id]);
  },
  place: ({ root, isLive }) => pane.go(root, isLive),
  open: ({ key, path, isOpen }) => pane.open(key, path, isOpen),
  more: ({ key }) => pane.more(key),
  filter: ({ text }) => pane.filter(text),
};

onmessage = ({ data }) => take[data.type](data);

/// The states of all conversations.
class ListFeed {
  #mirror = new Mirror();
  #known = new Set();
  #stream;

  constructor() {
    this.#stream = new NodeStream(places.url(["conversations"]), places.headers, {
      event: (name, path, data) => this.#event(name, path, data),
      state: (state, reason) => postMessage({ type: "connection", state, reason }),
    });
  }

  close() {
    this.#stream.close();
  }

  #event(name, path, data) {
    const at = path.split("/").filter(Boolean);
    const changed = this.#mirror.apply(name, at, data);
    if (changed.some((place) => place.length === 0)) return this.#whole();
    this.#tell([...new Set(changed.map(([id]) => id))]);
  }

  async #whole() {
    const ids = childNames(this.#mirror.value);
    const gone = [...this.#known].filter((id) => child(this.#mirror.value, id) === null);
    for (const id of gone) this.#known.delete(id);
    postMessage({ type: "conversations", changed: [], gone });
    for (let i = 0; i < ids.length; i += listSlice) this.#tell(ids.slice(i, i + listSlice));
    // Those of which nobody has told a state.
    const response = await fetch(places.url(["streaming"], { shallow: true }), { headers: places.headers })
      .catch(() => null);
    const keys = response?.ok ? Object.keys(await response.json().catch(() => null) ?? {}) : [];
    const silent = keys.filter((id) => !this.#known.has(id));
    for (let i = 0; i < silent.length; i += listSlice) this.#tell(silent.slice(i, i + listSlice));
  }

  #tell(ids) {
    const changed = [];
    const gone = [];
    for (const id of ids) {
      const node = child(this.#mirror.value, id);
      const status = child(node, "status");
      if (node === null && this.#known.has(id) && this.#mirror.value !== null) {
        gone.push(id);
        this.#known.delete(id);
        continue;
      }
      this.#known.add(id);
      changed.push({
        id,
        state: String(child(status, "state") ?? "").replace("CONVERSATION_ACTIVITY_STATE_", ""),
        since: Date.parse(child(status, "since") ?? "") || 0,
        error: String(child(child(status, "error"), "message") ?? ""),
      });
    }
    postMessage({ type: "conversations", changed, gone });
  }
}

/// The answers of the chosen conversation.
class ChatFeed {
  mirror = new Mirror();
  #transcript = new Transcript();
  #stream;

  constructor(id) {
    this.id = id;
    this.#stream = new NodeStream(places.url(["streaming", id]), places.headers, {
      event: (name, path, data) => this.#event(name, path, data),
      state: (state, reason) => postMessage({ type: "chat", id, state, reason }),
    });
  }

  close() {
    this.#stream.close();
  }

  #event(name, path, data) {
    const changed = this.mirror.apply(name, path.split("/").filter(Boolean), data);
    const steps = this.#transcript.update(this.mirror.value, changed);
    for (const piece of sliced(steps)) postMessage({ type: "steps", id: this.id, steps: piece });
    pane.changed(this.mirror, changed);
  }
}

/// Steps in messages of so much text each, long texts cut.
function* sliced(steps) {
  let piece = [];
  let size = 0;
  for (const step of steps) {
    let rest = step.text ?? "";
    while (size + rest.length > textSlice) {
      const cut = safeCut(rest, textSlice - size);
      piece.push({ ...step, text: rest.slice(0, cut) });
      rest = rest.slice(cut);
      yield piece;
      piece = [];
      size = 0;
    }
    piece.push(step.text === undefined ? step : { ...step, text: rest });
    size += rest.length;
  }
  yield piece;
}

/// A place to cut at that is not within a surrogate pair.
function safeCut(text, at) {
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code < 0xdc00 ? at + 1 : at;
}
