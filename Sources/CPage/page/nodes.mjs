// The node pane: the rows that the worker sends, what just changed, and what can be done with a
// node: open, edit, delete, export.

import { byId, el } from "./dom.mjs";
import { names } from "./mirror.mjs";
import { grouped } from "./numbers.mjs";
import { key } from "./rows.mjs";
import { wordsOf } from "./stream.mjs";

const changedFor = 1200;

export class Nodes {
  #rows = new Map();
  #order = [];
  #selected = null;
  #root = [];
  #isLive = true;

  constructor(places, post) {
    this.places = places;
    this.post = post;
    this.box = byId("node-scroll");
    this.box.addEventListener("keydown", (event) => this.#key(event));
    byId("watch").addEventListener("click", () => this.go(this.#root, !this.#isLive));
    byId("place").addEventListener("submit", (event) => {
      event.preventDefault();
      this.go(names(byId("path").value));
    });
    byId("up").addEventListener("click", () => this.go(this.#root.slice(0, -1)));
    byId("node-filter").addEventListener("input", ({ target }) => post({ type: "filter", text: target.value }));
    byId("export").addEventListener("click", () => this.#export());
    byId("node-open").addEventListener("click", () => this.#selected && this.go(this.#selected.path));
    byId("node-edit").addEventListener("click", () => this.#edit());
    byId("node-delete").addEventListener("click", () => this.#edit(true));
    byId("edit").addEventListener("close", () => this.#closed());
  }

  /// Another place. What lies near the root is watched only where that is asked for: it may be all
  /// there is.
  go(root, isLive = this.#isLive && root.length > 1) {
    this.#select(null);
    this.post({ type: "place", root, isLive });
  }

  take({ root, rows, changed, message, left, isLive }) {
    this.#root = root;
    this.#isLive = isLive;
    byId("watch").setAttribute("aria-pressed", String(isLive));
    this.#place();
    const keys = new Set(rows.map((row) => row.key));
    for (const [place, entry] of this.#rows) {
      if (keys.has(place)) continue;
      entry.element.remove();
      this.#rows.delete(place);
    }
    this.#order = rows;
    let before = null;
    for (const row of rows) {
      let entry = this.#rows.get(row.key);
      if (!entry) {
        entry = this.#make(row);
        this.#rows.set(row.key, entry);
      }
      entry.row = row;
      this.#fill(entry);
      const next = before ? before.nextSibling : this.box.firstChild;
      if (next !== entry.element) this.box.insertBefore(entry.element, next);
      before = entry.element;
    }
    for (const place of changed) this.#highlight(this.#rows.get(place)?.element);
    const note = left > 0 ? `${grouped(left)} more rows; open a node on its own to see them.` : message;
    byId("node-empty").hidden = !note;
    byId("node-empty").textContent = note;
    if (!this.box.querySelector('[tabindex="0"]')) this.box.firstChild?.setAttribute("tabindex", "0");
  }

  #make(row) {
    const element = el("div", { className: "node", role: "treeitem", tabIndex: -1 },
      el("span", { className: "twist", "aria-hidden": "true" }), el("span", { className: "key" }), el("span", { className: "value" }));
    const entry = { element, row };
    element.addEventListener("click", () => {
      if (entry.row.more !== undefined) return this.post({ type: "more", key: entry.row.more });
      this.#select(entry.row);
      if (entry.row.kind === "node") this.#toggle(entry.row);
    });
    element.addEventListener("focus", () => this.#rove(element));
    return entry;
  }

  #fill({ element, row }) {
    const [twist, name, value] = element.children;
    element.style.setProperty("--depth", row.depth);
    element.setAttribute("aria-level", row.depth + 1);
    if (row.more !== undefined) {
      element.dataset.kind = "more";
      value.textContent = `${grouped(row.left)} earlier: show more`;
      return;
    }
    element.dataset.kind = row.kind;
    if (row.isFound) element.dataset.found = "";
    else delete element.dataset.found;
    if (row.kind === "node") element.setAttribute("aria-expanded", String(Boolean(row.isOpen)));
    else element.removeAttribute("aria-expanded");
    if (row.size) {
      element.setAttribute("aria-posinset", row.position);
      element.setAttribute("aria-setsize", row.size);
    }
    element.setAttribute("aria-selected", String(row.key === this.#selected?.key));
    twist.textContent = row.kind === "node" ? "›" : "";
    if (name.textContent !== row.name) name.textContent = row.name;
    if (value.textContent !== row.text) value.textContent = row.text;
  }

  #highlight(element) {
    if (!element) return;
    for (const animation of element.getAnimations()) animation.cancel();
    const color = getComputedStyle(element).getPropertyValue("--changed");
    element.animate([{ backgroundColor: color }, { backgroundColor: color, offset: 0.3 }, { backgroundColor: "transparent" }], changedFor);
  }

  #toggle(row) {
    this.post({ type: "open", key: row.key, path: row.path, isOpen: !row.isOpen });
  }

  #select(row) {
    const old = this.#selected && this.#rows.get(this.#selected.key);
    old?.element.setAttribute("aria-selected", "false");
    this.#selected = row;
    if (row) this.#rows.get(row.key)?.element.setAttribute("aria-selected", "true");
    byId("node-foot").hidden = !row;
    byId("node-path").textContent = row ? `/${row.key}` : "";
    byId("node-path").title = row ? `/${row.key}` : "";
  }

  #rove(element) {
    this.box.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    element.setAttribute("tabindex", "0");
  }

  #key(event) {
    const index = this.#order.findIndex((row) => this.#rows.get(row.key).element === document.activeElement);
    if (index < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = this.#order[index];
    const to = (i) => this.#order[i] && this.#rows.get(this.#order[i].key).element.focus();
    const keys = {
      ArrowDown: () => to(index + 1),
      ArrowUp: () => to(index - 1),
      Home: () => to(0),
      End: () => to(this.#order.length - 1),
      ArrowRight: () => row.kind === "node" && (row.isOpen ? to(index + 1) : this.#toggle(row)),
      ArrowLeft: () => row.isOpen ? this.#toggle(row) : to(this.#order.findLastIndex((other, i) => i < index && other.depth < row.depth)),
      Enter: () => this.#rows.get(row.key).element.click(),
      " ": () => this.#rows.get(row.key).element.click(),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }

  #place() {
    const path = byId("path");
    if (document.activeElement !== path) path.value = `/${key(this.#root)}`;
    byId("up").disabled = this.#root.length === 0;
  }

  async #export() {
    const path = this.#selected?.path ?? this.#root;
    const response = await this.#ask("GET", path, { print: "pretty" });
    if (!response.ok) return this.#complain(await wordsOf(response));
    const link = el("a", {
      href: URL.createObjectURL(await response.blob()), download: `${path.at(-1) ?? "tree"}.json`,
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  /// Asks before anything is written.
  async #edit(isDelete = false) {
    const path = this.#selected?.path;
    if (!path) return;
    const response = await this.#ask("GET", path, { print: "pretty" });
    if (!response.ok) return this.#complain(await wordsOf(response));
    const text = await response.text();
    const dialog = byId("edit");
    this.editing = { path, isDelete };
    byId("edit-title").textContent = isDelete ? "Delete this node?" : "Edit";
    byId("edit-path").textContent = `/${key(path)}`;
    byId("edit-text").value = text;
    byId("edit-text").readOnly = isDelete;
    byId("edit-note").textContent = isDelete
      ? "All of this is removed at once. It cannot be taken back."
      : "The whole node is replaced, also where somebody else has changed it meanwhile.";
    byId("edit-save").textContent = isDelete ? "Delete" : "Replace this node";
    byId("edit-save").classList.toggle("danger", isDelete);
    byId("edit-wrong").hidden = true;
    dialog.returnValue = "";
    dialog.showModal();
  }

  async #closed() {
    const dialog = byId("edit");
    if (dialog.returnValue !== "save" || !this.editing) return;
    const { path, isDelete } = this.editing;
    const text = byId("edit-text").value;
    let problem = "";
    try {
      if (!isDelete) JSON.parse(text);
      const response = await this.#ask(isDelete ? "DELETE" : "PUT", path, { print: "silent" }, isDelete ? undefined : text);
      if (!response.ok) problem = await wordsOf(response);
    } catch (error) {
      problem = error instanceof SyntaxError ? `This is not JSON: ${error.message}` : "The database does not answer.";
    }
    if (!problem) {
      if (isDelete) this.#select(null);
      if (!this.#isLive) this.go(this.#root, false);
      return;
    }
    byId("edit-wrong").textContent = problem;
    byId("edit-wrong").hidden = false;
    dialog.returnValue = "";
    dialog.showModal();
  }

  #ask(method, path, parameters, body) {
    return fetch(this.places.url(path, parameters), { method, headers: this.places.headers, body })
      .catch(() => new Response('{"error":"the database does not answer"}', { status: 503 }));
  }

  #complain(text) {
    byId("node-empty").hidden = false;
    byId("node-empty").textContent = text;
  }
}
