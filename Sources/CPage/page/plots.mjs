// The demo's figures as small plots of the last two minutes.

import { el, svg } from "./dom.mjs";

const width = 160;
const height = 36;
export const samplesMax = 480;

const whole = (value) => value.toLocaleString("en", { maximumFractionDigits: 0 });
const tenth = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
const time = (value) => value >= 1000 ? `${tenth(value / 1000)} s` : `${tenth(value)} ms`;

const kinds = [
  { name: "Tokens/s", lines: ["tokens_per_second"], text: ([value]) => whole(value) },
  { name: "Requests/s", lines: ["requests_per_second"], text: ([value]) => whole(value) },
  { name: "Tokens a request", lines: ["tokens_per_request"], text: ([value]) => tenth(value) },
  { name: "Lag, records", lines: ["lag"], text: ([value]) => whole(value) },
  { name: "Visible after, p50", lines: ["p50_ms"], text: ([value]) => time(value) },
  { name: "Visible after, p99", lines: ["p99_ms"], text: ([value]) => time(value) },
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
    this.line = svg("path", { class: "line" });
    this.area = svg("path", { class: "area" });
    this.marks = svg("g", { class: "marks" });
    this.element = el("figure", { className: "tile" },
      el("figcaption", { textContent: kind.name }), this.value,
      svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
        this.marks, this.area, this.line));
  }

  show(samples, marks) {
    const [name] = this.kind.lines;
    const last = samples.at(-1);
    const value = last?.[name];
    this.value.textContent = value === null || value === undefined ? "–" : this.kind.text([value]);
    const max = Math.max(1e-9, ...samples.map((sample) => sample[name] ?? 0)) * 1.08;
    const x = (at) => width * (1 - (last.at - at) / (samplesMax * 250));
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
