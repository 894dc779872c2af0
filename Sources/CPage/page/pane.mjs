// What the node pane shows, on the worker's side: the chosen conversation's mirror, or another
// place, watched by a stream or read level by level as it is opened.

import { Mirror, childNames, isNode } from "./mirror.mjs";
import { Unloaded, found, key, rows, windowFirst, windowMore } from "./rows.mjs";
import { NodeStream, wordsOf } from "./stream.mjs";

const interval = 120;
const rowsMax = 1500;
const pageSize = 1000;

export class Pane {
  #places;
  #post;
  #root = [];
  #mirror = new Mirror();
  #followed = null;
  #isFollowing = true;
  #isLive = true;
  #stream = null;
  #open = new Set();
  #windows = new Map();
  #filter = "";
  #changed = [];
  #timer = 0;
  #lastAt = 0;
  #message = "";

  constructor(post) {
    this.#post = post;
  }

  start(places) {
    this.#places = places;
  }

  /// The chosen conversation: its mirror is shown unless the reader is elsewhere.
  follow(mirror, root) {
    this.#followed = { mirror, root };
    if (this.#isFollowing) this.#show(mirror, root);
  }

  /// Another place; at the chosen conversation's own its mirror serves.
  go(root, isLive) {
    this.#stream?.close();
    this.#stream = null;
    this.#isLive = isLive;
    this.#isFollowing = isLive && this.#followed !== null && key(root) === key(this.#followed.root);
    if (this.#isFollowing) return this.#show(this.#followed.mirror, root);
    this.#show(new Mirror(), root);
    this.#message = "Loading…";
    if (isLive) this.#watch();
    else this.#load([]);
  }

  reload() {
    if (!this.#isFollowing) this.go(this.#root, this.#isLive);
  }

  open(place, path, isOpen) {
    if (!isOpen) this.#open.delete(place);
    else {
      this.#open.add(place);
      const below = path.slice(this.#root.length);
      if (this.#mirror.get(below) instanceof Unloaded) this.#load(below);
    }
    this.#show();
  }

  more(place) {
    this.#windows.set(place, (this.#windows.get(place) ?? windowFirst) + windowMore);
    this.#show();
  }

  filter(text) {
    this.#filter = text.trim();
    this.#show();
  }

  /// Places of a mirror have changed.
  changed(mirror, places) {
    if (mirror !== this.#mirror) return;
    this.#message = "";
    const isFirst = places.some((place) => place.length === 0);
    if (isFirst || places.some((place) => place.length === 1)) this.#openAnswers();
    // A whole value that comes again is no news.
    if (!isFirst) for (const place of places) this.#changed.push(this.#root.concat(place));
    this.#schedule();
  }

  /// The last answers of a conversation stand open from the beginning.
  #openAnswers() {
    if (!this.#isFollowing) return;
    for (const answer of childNames(this.#mirror.value).slice(-2)) {
      const place = this.#root.concat(answer);
      if (this.#windows.has(key(place))) continue;
      this.#windows.set(key(place), windowFirst);
      for (const path of [place, place.concat("meta"), place.concat("chunks")]) this.#open.add(key(path));
    }
  }

  #show(mirror = this.#mirror, root = this.#root) {
    if (mirror !== this.#mirror) {
      this.#open.clear();
      this.#windows.clear();
      this.#changed = [];
      this.#message = "";
    }
    this.#mirror = mirror;
    this.#root = root;
    this.#openAnswers();
    this.#schedule(0);
  }

  #watch() {
    const mirror = this.#mirror;
    this.#stream = new NodeStream(this.#places.url(this.#root), this.#places.headers, {
      event: (name, path, data) => this.changed(mirror, mirror.apply(name, path.split("/").filter(Boolean), data)),
      state: (state, reason) => {
        this.#message = state === "open" ? "" : reason;
        this.#schedule();
      },
    });
  }

  /// One level of a node that is not watched.
  async #load(below) {
    const mirror = this.#mirror;
    let value;
    try {
      value = await this.#level(this.#root.concat(below));
      this.#message = "";
    } catch (error) {
      this.#message = error.message;
    }
    if (mirror !== this.#mirror) return;
    if (value !== undefined) mirror.set(below, value);
    this.#schedule(0);
  }

  /// All names of a node, page by page; a leaf's value where it has none.
  async #level(path) {
    const out = {};
    let after = {};
    while (true) {
      const url = this.#places.url(path, { shallow: true, limitToFirst: pageSize, ...after });
      const response = await fetch(url, { headers: this.#places.headers });
      if (!response.ok) throw new Error(await wordsOf(response));
      const page = await response.json();
      if (!isNode(page)) return Object.keys(out).length > 0 ? out : page;
      const keys = Object.keys(page);
      for (const name of keys) {
        const value = page[name] === true ? new Unloaded() : page[name];
        Object.defineProperty(out, name, { value, enumerable: true, configurable: true, writable: true });
      }
      if (keys.length < pageSize) return out;
      after = { startAfter: childNames(page).at(-1) };
    }
  }

  #schedule(wait = interval) {
    if (this.#timer && wait > 0) return;
    clearTimeout(this.#timer);
    const due = Math.max(wait, this.#lastAt + interval - performance.now());
    this.#timer = setTimeout(() => this.#tell(), wait === 0 ? 0 : due);
  }

  #tell() {
    this.#timer = 0;
    this.#lastAt = performance.now();
    const { value } = this.#mirror;
    const all = this.#filter
      ? found(value, this.#root, this.#filter)
      : rows(value, this.#root, this.#open, this.#windows);
    const shown = all.slice(0, rowsMax);
    const keys = new Set(shown.map((row) => row.key));
    const changed = new Set(this.#changed.map((path) => nearest(path, keys)).filter(Boolean));
    this.#changed = [];
    let message = this.#message;
    if (!message && shown.length === 0) {
      message = this.#filter ? "Nothing here has this name or value." : isNode(value) || value === null
        ? "There is nothing here." : `A value: ${JSON.stringify(value).slice(0, 500)}`;
    }
    this.#post({
      type: "rows", root: this.#root, rows: shown, changed: [...changed], message, left: all.length - shown.length,
      isLive: this.#isLive,
    });
  }
}

/// The place itself or the nearest above it that is shown.
function nearest(path, keys) {
  for (let end = path.length; end > 0; end--) {
    const place = key(path.slice(0, end));
    if (keys.has(place)) return place;
  }
  return null;
}
