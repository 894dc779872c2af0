// The conversations and their states: ten thousand of them cost as much as those in sight.

import { ago, byId, el, everyFrame, isActive, stateWords } from "./dom.mjs";
import { grouped } from "./numbers.mjs";

const rowHeight = 52;
const overscan = 6;
const bulk = 100;

export class ConversationList {
  #known = new Map();
  #order = [];
  #shown = [];
  #rows = new Map();
  #filter = "";
  #show = "all";
  #isUnsorted = false;
  chosen = null;

  constructor(onChoose) {
    this.onChoose = onChoose;
    this.scroll = byId("list-scroll");
    this.box = byId("list-rows");
    this.update = everyFrame(() => this.#update());
    this.render = everyFrame(() => this.#render());
    this.scroll.addEventListener("scroll", this.render, { passive: true });
    new ResizeObserver(this.render).observe(this.scroll);
    this.scroll.addEventListener("keydown", (event) => this.#key(event));
    byId("list-filter").addEventListener("input", ({ target }) => {
      this.#filter = target.value.trim().toLowerCase();
      this.scroll.scrollTop = 0;
      this.update();
    });
    for (const button of document.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => {
        this.#show = button.dataset.show;
        for (const other of document.querySelectorAll("[data-show]")) {
          other.setAttribute("aria-pressed", String(other === button));
        }
        this.scroll.scrollTop = 0;
        this.update();
      });
    }
    setInterval(this.render, 1000);
  }

  get(id) {
    return this.#known.get(id);
  }

  /// The conversation whose answer was begun last, of those that are being written.
  newestActive() {
    let best = null;
    for (const entry of this.#known.values()) {
      if (entry.state === "GENERATING" && (!best || entry.since > best.since)) best = entry;
    }
    return best?.id ?? null;
  }

  take({ changed, gone }) {
    for (const id of gone) this.#known.delete(id);
    if (gone.length > 0) this.#order = this.#order.filter((id) => this.#known.has(id));
    const fresh = [];
    for (const entry of changed) {
      if (!this.#known.has(entry.id)) fresh.push(entry);
      this.#known.set(entry.id, entry);
    }
    if (fresh.length > 0) this.#add(fresh.sort((a, b) => b.since - a.since));
    this.update();
  }

  /// Who is there keeps its place, so that nothing jumps under the pointer; new ones come on top,
  /// those without a state below. Only what comes in bulk is put in order of time.
  #add(fresh) {
    const timed = fresh.filter((entry) => entry.since > 0).map((entry) => entry.id);
    const silent = fresh.filter((entry) => entry.since === 0).map((entry) => entry.id);
    this.#order = timed.concat(this.#order, silent);
    this.#isUnsorted ||= fresh.length > bulk;
    this.#keepInSight(timed.length);
  }

  /// New rows above do not move those that the reader has scrolled to.
  #keepInSight(count) {
    if (this.scroll.scrollTop > rowHeight && !this.#filter && this.#show === "all") {
      this.scroll.scrollTop += count * rowHeight;
    }
  }

  choose(id, isByHand = true) {
    this.chosen = id;
    this.render();
    this.onChoose(id, isByHand);
  }

  #matches(id) {
    const { state } = this.#known.get(id);
    if (this.#show === "active" && !isActive(state)) return false;
    if (this.#show === "error" && state !== "ERROR") return false;
    return this.#filter === "" || id.toLowerCase().includes(this.#filter);
  }

  #update() {
    if (this.#isUnsorted) this.#order.sort((a, b) => this.#known.get(b).since - this.#known.get(a).since);
    this.#isUnsorted = false;
    const isAll = this.#show === "all" && this.#filter === "";
    this.#shown = isAll ? this.#order : this.#order.filter((id) => this.#matches(id));
    byId("list-count").textContent = isAll || this.#shown.length === this.#order.length
      ? grouped(this.#order.length) : `${grouped(this.#shown.length)} of ${grouped(this.#order.length)}`;
    this.box.style.height = `${this.#shown.length * rowHeight}px`;
    const empty = byId("list-empty");
    empty.hidden = this.#shown.length > 0;
    empty.textContent = this.#order.length > 0 ? "None is like that." : "No conversations yet.";
    this.#render();
  }

  #render() {
    const { scrollTop, clientHeight } = this.scroll;
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - overscan);
    const last = Math.min(this.#shown.length, Math.ceil((scrollTop + clientHeight) / rowHeight) + overscan);
    const wanted = new Map();
    for (let i = first; i < last; i++) wanted.set(this.#shown[i], i);
    for (const [id, row] of this.#rows) {
      if (wanted.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    const now = Date.now();
    for (const [id, index] of wanted) {
      let row = this.#rows.get(id);
      if (!row) {
        row = this.#make(id);
        this.#rows.set(id, row);
        this.box.append(row);
      }
      this.#fill(row, this.#known.get(id), index, now);
    }
    const active = this.chosen !== null && this.#rows.has(this.chosen) ? this.#rows.get(this.chosen).id : "";
    if (active) this.scroll.setAttribute("aria-activedescendant", active);
    else this.scroll.removeAttribute("aria-activedescendant");
  }

  #make(id) {
    const row = el("div", { className: "row", role: "option", id: `c-${encodeURIComponent(id)}` },
      el("span", { className: "dot" }),
      el("span", { className: "name", textContent: id, title: id }),
      el("span", { className: "state" }),
      el("time", { className: "when" }));
    row.addEventListener("click", () => this.choose(id));
    return row;
  }

  #fill(row, entry, index, now) {
    row.style.transform = `translateY(${index * rowHeight}px)`;
    set(row, "aria-posinset", index + 1);
    set(row, "aria-setsize", this.#shown.length);
    set(row, "aria-selected", entry.id === this.chosen);
    set(row, "data-state", entry.state || "NONE");
    const [, , state, when] = row.children;
    const words = stateWords[entry.state] ?? entry.state;
    text(state, entry.error ? `${words}: ${entry.error}` : words);
    text(when, ago(entry.since, now));
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && this.chosen !== null) {
      document.body.dataset.view = "chat";
      return byId("chat-scroll").focus();
    }
    if (!(event.key in steps) || this.#shown.length === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const at = this.#shown.indexOf(this.chosen);
    const from = at < 0 && steps[event.key] > 0 ? -1 : at;
    const index = Math.min(this.#shown.length - 1, Math.max(0, from + steps[event.key]));
    const top = index * rowHeight;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    if (top + rowHeight > this.scroll.scrollTop + this.scroll.clientHeight) {
      this.scroll.scrollTop = top + rowHeight - this.scroll.clientHeight;
    }
    this.choose(this.#shown[index]);
  }
}

function set(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}
