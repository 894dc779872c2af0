// The demo's figures as small plots: of the last two minutes, of less at the beginning.

import { el, svg } from "./dom.mjs";
import { grouped } from "./numbers.mjs";

const width = 160;
const height = 36;
export const samplesMax = 480;
const spanMin = 20_000;
const spanMax = 120_000;

const whole = (value) => grouped(value);
const tenth = (value) => grouped(value, value < 10 ? 1 : 0);
const time = (value) => value >= 1000 ? `${tenth(value / 1000)} s` : `${tenth(value)} ms`;

const kinds = [
  { name: "Tokens/s", of: "tokens_per_second", text: whole },
  { name: "Requests/s", of: "requests_per_second", text: whole },
  { name: "Tokens per request", of: "tokens_per_request", text: tenth },
  { name: "Lag, records", of: "lag", text: whole },
  { name: "Visible after, p50", of: "p50_ms", text: time },
  { name: "Visible after, p99", of: "p99_ms", text: time },
];

export class Plots {
  #tiles;

  constructor(box) {
    this.#tiles = kinds.map((kind) => new Tile(kind));
    box.append(...this.#tiles.map((tile) => tile.element));
  }

  /// `samples` has the last two minutes, each with `at`; `marks` what was done meanwhile.
  show(samples, marks) {
    for (const tile of this.#tiles) tile.show(samples, marks);
  }
}

class Tile {
  constructor(kind) {
    this.kind = kind;
    this.value = el("strong", { textContent: "–" });
    this.peak = el("span", { className: "peak" });
    this.line = svg("path", { class: "line" });
    this.area = svg("path", { class: "area" });
    this.marks = svg("g", { class: "marks" });
    this.element = el("figure", { className: "tile" },
      el("figcaption", { textContent: kind.name }), this.value, this.peak,
      svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
        this.marks, this.area, this.line));
  }

  show(samples, marks) {
    const name = this.kind.of;
    const last = samples.at(-1);
    const value = last?.[name];
    this.value.textContent = value === null || value === undefined ? "–" : this.kind.text(value);
    const peak = Math.max(0, ...samples.map((sample) => sample[name] ?? 0));
    this.peak.textContent = peak > 0 ? `peak ${this.kind.text(peak)}` : "";
    const max = Math.max(peak, 1e-9) * 1.08;
    const span = Math.min(spanMax, Math.max(spanMin, (last?.at ?? 0) - (samples[0]?.at ?? 0)));
    const x = (at) => width * (1 - (last.at - at) / span);
    let line = "";
    let area = "";
    let from = null;
    let before = null;
    for (const sample of samples) {
      const value = sample[name];
      if (value === null || value === undefined) {
        if (before) area += `L${before} ${height}L${from} ${height}Z`;
        [from, before] = [null, null];
        continue;
      }
      const at = x(sample.at).toFixed(1);
      const point = `${at} ${(height - 1 - (height - 3) * value / max).toFixed(1)}`;
      line += `${before ? "L" : "M"}${point}`;
      area += `${before ? "L" : "M"}${point}`;
      from ??= at;
      before = at;
    }
    if (before) area += `L${before} ${height}L${from} ${height}Z`;
    this.line.setAttribute("d", line);
    this.area.setAttribute("d", area);
    this.marks.replaceChildren(...marks.filter((mark) => last && x(mark.at) > 0).map((mark) => svg("rect", {
      x: x(mark.at).toFixed(1), y: 0, height, class: mark.kind,
      width: Math.max(1.5, x(mark.until ?? mark.at) - x(mark.at)).toFixed(1),
    })));
  }
}
