// The demo: its figures, asked for four times a second (no stream: browsers open six connections to
// a host, and two tabs shall fit), and its buttons, with what became of what they broke.

import { byId } from "./dom.mjs";
import { grouped } from "./numbers.mjs";
import { Plots, samplesMax } from "./plots.mjs";

const interval = 250;

export class Demo {
  #last = 0;
  #samples = [];
  #marks = [];
  #restarts = null;
  #broken = null;
  #isAnswered = true;

  constructor() {
    byId("demo").hidden = false;
    this.plots = new Plots(byId("tiles"));
    byId("break").addEventListener("click", () => this.#press("break"));
    byId("kill").addEventListener("click", () => this.#press("kill"));
    this.#ask();
  }

  /// An answer shall be written anew.
  regenerate(id) {
    this.#press("regenerate", id);
  }

  async #press(name, body = "") {
    const response = await fetch(`/.demo/${name}`, { method: "POST", body }).catch(() => null);
    if (response?.status === 404) this.#say("The demo has told no such conversation: there is nothing to generate once more.");
    else if (!response?.ok) this.#say("The demo does not obey any more: it is ending.");
    else if (name === "kill") this.#say("The bridge gets SIGKILL, in the middle of its work.");
    else if (name === "regenerate") this.#say("The answer is generated once more, under another run id.");
  }

  async #ask() {
    const response = await fetch(`/.demo/figures?after=${this.#last}`, { cache: "no-store" }).catch(() => null);
    const answer = response?.ok ? await response.json().catch(() => null) : null;
    if (answer) this.#take(answer);
    this.#answered(answer !== null);
    setTimeout(() => this.#ask(), answer ? interval : 2000);
  }

  #answered(isAnswered) {
    if (isAnswered !== this.#isAnswered && !isAnswered) this.#say("The demo has ended.");
    if (!isAnswered) this.#last = 0;
    this.#isAnswered = isAnswered;
    for (const id of ["break", "kill", "regenerate"]) {
      byId(id).disabled = !isAnswered || id === "break" && this.#broken !== null && !this.#broken.isBack;
    }
  }

  #take({ last, broken_ms, samples }) {
    if (this.#last === 0) this.#samples = [];
    this.#last = last;
    for (const sample of samples) {
      sample.tokens_per_request = sample.requests_per_second > 0
        ? sample.tokens_per_second / sample.requests_per_second : null;
      this.#samples.push(sample);
    }
    this.#samples.splice(0, Math.max(0, this.#samples.length - samplesMax));
    const now = this.#samples.at(-1);
    if (!now) return;
    this.#watchDatabase(now, broken_ms);
    this.#watchBridge(now);
    this.plots.show(this.#samples, this.#marks);
    byId("ledger").replaceChildren(
      part(grouped(now.visible + now.outstanding), "produced"), part(grouped(now.visible), "visible"),
      part(grouped(now.outstanding), "on their way", now.outstanding > 60));
    byId("demo").dataset.database = broken_ms > 0 ? "broken" : "there";
  }

  #watchDatabase(now, broken_ms) {
    if (broken_ms > 0) {
      if (!this.#broken || this.#broken.isBack) {
        this.#broken = { mark: { kind: "broken", at: now.at }, isBack: false };
        this.#marks.push(this.#broken.mark);
      }
      this.#broken.mark.until = now.at;
      this.#say(`The database answers 503, for ${Math.ceil(broken_ms / 1000)} s more. ${grouped(now.outstanding)} tokens are not visible yet; Kafka has them.`);
    } else if (this.#broken) {
      if (!this.#broken.isBack) {
        this.#broken.isBack = true;
        this.#broken.produced = now.visible + now.outstanding;
        this.#say("The database is back.");
      }
      // Those that were produced by then are visible by now.
      if (now.visible >= this.#broken.produced) {
        this.#say(`Caught up: all ${grouped(this.#broken.produced)} tokens produced until the database came back are visible. Nothing is lost.`);
        this.#broken = null;
      }
    }
  }

  #watchBridge(now) {
    if (this.#restarts !== null && now.restarts > this.#restarts) {
      this.#marks.push({ kind: "killed", at: now.at });
      this.killed = { produced: null };
      this.#say("The bridge is dead and is being started again.");
    }
    this.#restarts = now.restarts;
    if (this.killed && now.bridge) {
      this.killed.produced ??= now.visible + now.outstanding;
      if (now.visible >= this.killed.produced) {
        this.#say(`The bridge went on where the tree said it was: all ${grouped(this.killed.produced)} tokens are visible. Nothing is lost.`);
        this.killed = null;
      }
    }
  }

  #say(text) {
    if (byId("story").textContent !== text) byId("story").textContent = text;
  }
}

function part(number, words, isMany = false) {
  const span = document.createElement("span");
  const strong = document.createElement("strong");
  strong.textContent = number;
  span.append(strong, ` ${words}`);
  if (isMany) span.dataset.many = "";
  return span;
}
