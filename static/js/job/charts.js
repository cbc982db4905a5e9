// A metric over the iterations: the server's buckets (smallest and largest value of each, so that no spike is hidden),
// then each new value as it comes. Drag over a chart to see a part of the run.
import { fill, significant } from "./words.js";

const POINTS = 1500;
const MOST_POINTS = 4000;
const HEIGHT = 230;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = (value) => (typeof value === "number" ? value : null); // "NaN" and "Infinity" come spelled out

export class Chart {
  constructor(figure, seriesUrl, texts) {
    this.figure = figure;
    this.key = figure.dataset.chart;
    this.url = `${seriesUrl}${this.key}/`;
    this.texts = texts;
    this.canvas = figure.querySelector("[data-chart-canvas]");
    this.value = figure.querySelector("[data-chart-value]");
    this.note = figure.querySelector("[data-chart-note]");
    this.reset = figure.querySelector("[data-chart-reset]");
    this.data = [[], [], []];
    this.broken = [];
    this.brokenCount = 0;
    this.coming = []; // values that came while the series was being fetched
    this.range = null;
    this.seq = 0;
    this.reset.addEventListener("click", () => this.show(null));
    new ResizeObserver(() => this.resized()).observe(this.canvas);
  }

  // A chart in a closed section fetches nothing.
  resized() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    if (this.plot) this.plot.setSize({ width, height: HEIGHT });
    else if (!this.asked) this.load();
  }

  show(range) {
    this.range = range;
    this.reset.hidden = range === null;
    return this.load();
  }

  async load() {
    this.asked = true;
    this.loading = true;
    const part = this.range ? `&first=${this.range[0]}&last=${this.range[1]}` : "";
    try {
      const response = await fetch(`${this.url}?points=${POINTS}${part}`);
      if (response.ok) this.taken(await response.json());
    } catch {
      // The server is away: what comes by the socket is drawn, and the next load brings the rest.
    }
    this.loading = false;
    const coming = this.coming;
    this.coming = [];
    for (const [seq, iteration, value] of coming) this.push(seq, iteration, value);
    this.draw();
  }

  taken(series) {
    this.data = [series.iteration, series.min, series.max];
    this.broken = series.nan;
    this.brokenCount = series.nan_count;
    this.seq = series.seq;
  }

  // One new value; `seq` tells whether the fetched series has it already.
  push(seq, iteration, value) {
    if (!this.asked) return;
    if (this.loading) {
      this.coming.push([seq, iteration, value]);
      return;
    }
    if (seq <= this.seq || this.range) return;
    this.seq = seq;
    const known = this.data[0];
    if (known.length && iteration <= known[known.length - 1]) {
      this.again(known.lastIndexOf(iteration), iteration, number(value));
      return;
    }
    for (const [index, part] of [iteration, number(value), number(value)].entries()) this.data[index].push(part);
    if (number(value) === null) {
      this.broken.push(iteration);
      this.brokenCount += 1;
    }
    if (this.data[0].length > MOST_POINTS) this.load();
    else this.draw();
  }

  // An iteration that is done again after an interruption: its last value counts, as in the server's answer.
  again(place, iteration, value) {
    if (value === null || this.broken.includes(iteration)) this.load();
    else if (place >= 0) {
      this.data[1][place] = this.data[2][place] = value;
      this.draw();
    }
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.render();
    });
  }

  render() {
    const empty = this.data[0].length === 0;
    this.figure.querySelector("[data-chart-empty]").hidden = !empty;
    this.canvas.hidden = empty;
    if (empty) return;
    if (this.plot) this.plot.setData(this.data);
    else this.plot = new uPlot(this.options(), this.data, this.canvas);
    this.caption(this.data[0].length - 1);
    this.note.hidden = this.brokenCount === 0;
    this.note.textContent = fill(this.texts.broken, { count: this.brokenCount, first: this.broken[0] });
  }

  caption(index) {
    const [iteration, min, max] = this.data.map((part) => part[index]);
    const value = min === max ? significant(min) : `${significant(min)} – ${significant(max)}`;
    this.value.textContent = `${significant(iteration)} · ${value}`;
    this.canvas.setAttribute("role", "img"); // only together with its name
    this.canvas.setAttribute("aria-label", `${this.figure.dataset.label}: ${this.value.textContent}`);
  }

  options() {
    const line = { stroke: () => colour("--chart"), width: 1.75, points: { show: this.data[0].length < 40, size: 5 } };
    const axis = { stroke: () => colour("--muted"), grid: { stroke: () => colour("--chart-grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const spell = (_, values) => values.map((value) => (value === null ? "" : significant(value)));
    return {
      width: this.canvas.clientWidth,
      height: HEIGHT,
      padding: [10, 12, 0, 0],
      legend: { show: false },
      scales: { x: { time: false } },
      cursor: { sync: { key: "job" }, y: false, drag: { x: true, y: false, setScale: false }, points: { size: 7 } },
      series: [{}, { ...line }, { ...line }],
      bands: [{ series: [2, 1], fill: () => colour("--chart-band") }],
      axes: [{ ...axis, values: spell, space: 70, size: 30 }, { ...axis, values: spell, size: 62 }],
      hooks: {
        draw: [(plot) => this.markBroken(plot)],
        setCursor: [(plot) => this.caption(plot.cursor.idx ?? this.data[0].length - 1)],
        setSelect: [(plot) => this.selected(plot)],
      },
    };
  }

  selected(plot) {
    const { left, width } = plot.select;
    if (width < 8) return;
    const [first, last] = [left, left + width].map((place) => Math.round(plot.posToVal(place, "x")));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (last > first) this.show([first, last]);
  }

  // Iterations without a finite value are red lines: divergence must not look like a gap.
  markBroken(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour("--bad");
    ctx.lineWidth = devicePixelRatio;
    for (const iteration of this.broken) {
      const x = plot.valToPos(iteration, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  recolour() {
    this.plot?.redraw(false);
  }
}
