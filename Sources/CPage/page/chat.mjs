// The answers of the chosen conversation. A token is appended to the text that stands there, never
// rendered anew; a long answer is many blocks, of which the browser lays out those in sight.

import { byId, el, everyFrame } from "./dom.mjs";
import { grouped } from "./numbers.mjs";

const blockSize = 2000;
const blockSizeMax = 12_000;
const titles = { reasoning: "Reasoning", tool: "Tool call" };
const followWithin = 80;

export class Chat {
  #bubbles = new Map();
  #isFollowing = true;
  #top = 0;
  id = null;

  constructor() {
    this.box = byId("bubbles");
    this.scroll = byId("chat-scroll");
    this.latest = byId("latest");
    this.scroll.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.latest.addEventListener("click", () => {
      this.#isFollowing = true;
      this.#toEnd();
    });
    this.stick = everyFrame(() => this.#isFollowing && this.#toEnd());
    // Blocks have their true heights only when they come into sight.
    new ResizeObserver(this.stick).observe(this.box);
  }

  /// Begins with another conversation.
  show(id) {
    this.id = id;
    this.#bubbles.clear();
    this.box.replaceChildren();
    this.#isFollowing = true;
    this.latest.hidden = true;
    byId("chat-empty").hidden = false;
    byId("chat-empty").textContent = "Loading…";
  }

  say(text) {
    if (this.#bubbles.size > 0) return;
    byId("chat-empty").hidden = false;
    byId("chat-empty").textContent = text;
  }

  take(steps) {
    for (const step of steps) this.#take(step);
    if (steps.length === 0 && this.#bubbles.size === 0) this.say("There is no answer yet.");
    else byId("chat-empty").hidden = this.#bubbles.size > 0;
    this.stick();
  }

  #take(step) {
    if (step.gone) {
      this.#bubbles.get(step.answer)?.element.remove();
      this.#bubbles.delete(step.answer);
    } else if (step.begin) {
      this.#begin(step);
    } else {
      this.#bubbles.get(step.answer)?.take(step);
    }
  }

  #begin({ answer, isRegenerated }) {
    const before = this.#bubbles.get(answer);
    const bubble = new Bubble(answer, isRegenerated ? before : null);
    this.#bubbles.set(answer, bubble);
    if (before) return before.element.replaceWith(bubble.element);
    const after = [...this.#bubbles.values()].find((other) => Number(other.answer) > Number(answer));
    if (after) after.element.before(bubble.element);
    else this.box.append(bubble.element);
  }

  #scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroll;
    // Only a reader scrolls up; what grows below is no wish to stay.
    if (scrollHeight - scrollTop - clientHeight < followWithin) this.#isFollowing = true;
    else if (scrollTop < this.#top - 1) this.#isFollowing = false;
    this.#top = scrollTop;
    this.latest.hidden = this.#isFollowing;
  }

  #toEnd() {
    this.scroll.scrollTop = this.scroll.scrollHeight;
  }
}

/// One answer.
class Bubble {
  #part = null;
  #kind = "";
  #status = null;

  /// `before` is the answer in whose place this one comes: it stays, folded.
  constructor(answer, before) {
    this.answer = answer;
    this.attempt = (before?.attempt ?? 0) + 1;
    this.label = el("span", { className: "label", textContent: `Answer ${answer}` });
    this.tokens = el("span", { className: "tokens" });
    this.state = el("span", { className: "badge" });
    this.body = el("div", { className: "body" });
    this.foot = el("div", { className: "run" });
    this.element = el("article", { className: "bubble", "aria-label": `Answer ${answer}` },
      el("header", {}, this.label, this.state, el("span", { className: "grow" }), this.tokens), this.body, this.foot);
    if (this.attempt > 1) this.#supersede(before);
  }

  #supersede(before) {
    this.label.textContent = `Answer ${this.answer}, attempt ${this.attempt}`;
    const old = el("details", { className: "fold before" },
      el("summary", {}, el("span", { textContent: `Attempt ${before.attempt}` }),
        el("span", { className: "size", textContent: "superseded" })));
    // Only the last attempt is kept.
    before.body.querySelector(":scope > .before")?.remove();
    old.append(...before.body.childNodes);
    this.body.append(old);
    announce(`Answer ${this.answer} is written anew`);
  }

  take({ kind, text, gap, meta, tokens }) {
    if (kind) this.#append(kind, text);
    if (gap) this.#gap(gap);
    if (meta) this.#meta(meta, tokens);
  }

  #append(kind, text) {
    if (kind !== this.#kind) {
      this.#part?.end();
      this.#part = kind === "text" ? new Text("text") : new Fold(kind);
      this.#kind = kind;
      this.body.append(this.#part.element);
    }
    this.#part.append(text);
  }

  #gap(count) {
    this.#part?.end();
    this.#kind = "";
    this.body.append(el("p", { className: "gap", textContent: count === 1 ? "1 token is missing here" : `${grouped(count)} tokens are missing here` }));
  }

  #meta(meta, tokens) {
    this.tokens.textContent = tokens === 1 ? "1 token" : `${grouped(tokens)} tokens`;
    const status = meta.status ?? "streaming";
    if (status === this.#status) return;
    const isNews = this.#status !== null;
    this.#status = status;
    this.element.dataset.status = status;
    const words = { streaming: "Writing", complete: "Complete", error: "Failed" };
    this.state.textContent = words[status] ?? String(status);
    this.state.dataset.state = status;
    this.body.querySelector(":scope > .failed")?.remove();
    if (status === "error") {
      this.body.append(el("p", { className: "failed", role: "alert" },
        el("strong", { textContent: "This answer ended with an error. " }), String(meta.error_message ?? "No reason was given.")));
    }
    this.foot.textContent = `run ${meta.run_id ?? "unknown"}${duration(meta)}`;
    if (status !== "streaming") this.#part?.end();
    if (isNews) announce(`Answer ${this.answer}: ${this.state.textContent}`);
  }
}

function duration({ started_at, finished_at }) {
  const length = Date.parse(finished_at ?? "") - Date.parse(started_at ?? "");
  return Number.isFinite(length) ? `, ${(length / 1000).toFixed(1)} s` : "";
}

/// What is not the answer itself stands folded.
class Fold {
  #length = 0;

  constructor(kind) {
    this.size = el("span", { className: "size" });
    this.text = new Text(kind);
    this.element = el("details", { className: `fold ${kind}` },
      el("summary", {}, el("span", { textContent: titles[kind] }), this.size), this.text.element);
    this.element.dataset.growing = "";
  }

  append(text) {
    this.#length += text.length;
    this.size.textContent = `${grouped(this.#length)} characters`;
    this.text.append(text);
  }

  end() {
    delete this.element.dataset.growing;
    this.text.end();
  }
}

/// A growing text in blocks that end at line breaks.
class Text {
  #block = null;
  #length = 0;

  constructor(kind) {
    this.element = el("div", { className: `words ${kind}` });
    this.element.dataset.growing = "";
  }

  append(text) {
    let rest = text;
    while (rest !== "") {
      if (!this.#block) this.#begin();
      const cut = this.#cut(rest);
      this.#block.appendData(cut < 0 ? rest : rest.slice(0, cut));
      if (cut < 0) {
        this.#length += rest.length;
        return;
      }
      // The end of a block is the line break.
      this.#block = null;
      rest = rest.slice(rest[cut] === "\n" ? cut + 1 : cut);
      if (rest === "") this.#begin();
    }
  }

  end() {
    delete this.element.dataset.growing;
  }

  #begin() {
    this.#block = document.createTextNode("");
    this.#length = 0;
    this.element.append(el("div", { className: "block" }, this.#block));
  }

  /// Where the block ends within the text; below 0 where it does not.
  #cut(text) {
    if (this.#length + text.length < blockSize) return -1;
    const line = text.indexOf("\n", Math.max(0, blockSize - this.#length));
    if (line >= 0 && this.#length + line <= blockSizeMax) return line;
    if (this.#length + text.length <= blockSizeMax) return -1;
    const space = text.indexOf(" ", Math.max(0, blockSizeMax - this.#length - 200));
    return space >= 0 ? space + 1 : -1;
  }
}

/// Tells a screen reader what has happened; tokens themselves are not read out one by one.
function announce(text) {
  byId("announce").textContent = text;
}
