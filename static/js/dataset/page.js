// The page of a dataset: waits for its report, and draws how long the rows are.
import { significant, fill } from "../job/words.js";
import { wait } from "./wait.js";

const HEIGHT = 220;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function draw(figure) {
  const { starts, ends, rows } = JSON.parse(document.getElementById(figure.dataset.histogram).textContent);
  const canvas = figure.querySelector("[data-canvas]");
  const caption = figure.querySelector("[data-caption]");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", figure.dataset.label);
  const say = (index) => {
    caption.textContent = index === null || index === undefined || starts[index] === undefined ? "\u00a0"
      : fill(figure.dataset.textBar, { start: significant(starts[index]), end: significant(ends[index]), rows: significant(rows[index]) });
  };
  const axis = { stroke: () => colour("--muted"), grid: { stroke: () => colour("--chart-grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const plot = new uPlot({
    width: canvas.clientWidth,
    height: HEIGHT,
    padding: [10, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, range: () => [-0.6, starts.length - 0.4] }, y: { range: (_, __, most) => [0, most || 1] } },
    series: [{}, { stroke: () => colour("--chart"), fill: () => colour("--chart-band"), paths: uPlot.paths.bars({ size: [0.9, 80] }), points: { show: false } }],
    axes: [
      { ...axis, space: 60, size: 30, values: (_, places) => places.map((place) => (Number.isInteger(place) && starts[place] !== undefined ? significant(starts[place]) : "")) },
      { ...axis, size: 62, values: (_, values) => values.map(significant) },
    ],
    hooks: { setCursor: [(chart) => say(chart.cursor.idx)] },
  }, [starts.map((_, index) => index), rows], canvas);
  say(null);
  new ResizeObserver(() => canvas.clientWidth && plot.setSize({ width: canvas.clientWidth, height: HEIGHT })).observe(canvas);
  new MutationObserver(() => plot.redraw(false)).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
}

wait();
for (const figure of document.querySelectorAll("[data-histogram]")) draw(figure);
