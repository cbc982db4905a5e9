// The log: a list of any length of which only the visible rows exist. Rows have one height; the spacer's height is
// capped, because browsers clip elements that are too high, and the scroll position is scaled to lines.
import { paint } from "./ansi.js";

const LONGEST_SPACER = 8_000_000;
const EXTRA_ROWS = 8;
const LONGEST_ROW = 4000;

export class LogView {
  // options: count(lines), following(on), top() when the reader has come to the first line
  constructor(view, options) {
    this.view = view;
    this.options = options;
    this.spacer = view.appendChild(document.createElement("div"));
    this.spacer.className = "log-spacer";
    this.rows = this.spacer.appendChild(document.createElement("div"));
    this.rows.className = "log-rows";
    this.following = true;
    this.placed = 0; // scroll position that we have set ourselves
    this.clear();
    view.addEventListener("scroll", () => this.draw(), { passive: true });
    view.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(view);
  }

  clear() {
    this.lines = [];
    this.tail = ""; // a last line that has not ended yet
    this.top = 0; // first visible line; may be a fraction
    this.draw();
  }

  append(text) {
    const parts = (this.tail + text).split("\n");
    this.tail = parts.pop();
    for (const part of parts) this.lines.push(part);
    this.draw();
  }

  // Earlier lines; what is on show stays in its place.
  prepend(text) {
    const parts = text.split("\n");
    if (parts.at(-1) === "") parts.pop();
    this.lines = parts.concat(this.lines);
    this.top += parts.length;
    this.draw();
  }

  get length() {
    return this.lines.length + (this.tail ? 1 : 0);
  }

  get visible() {
    return this.view.clientHeight / this.rowHeight;
  }

  get lastTop() {
    return Math.max(0, this.length - this.visible);
  }

  follow(on) {
    if (on !== this.following) {
      this.following = on;
      this.options.following(on);
    }
    this.draw();
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.render();
    });
  }

  render() {
    this.rowHeight = parseFloat(getComputedStyle(this.view).lineHeight);
    this.options.count(this.length);
    if (!this.view.clientHeight) return;
    if (Math.abs(this.view.scrollTop - this.placed) > 1) this.readScroll();
    const height = Math.min(this.length * this.rowHeight, LONGEST_SPACER);
    this.spacer.style.height = `${height}px`;
    if (this.following) this.top = this.lastTop;
    this.top = Math.min(Math.max(this.top, 0), this.lastTop);
    const range = Math.max(0, height - this.view.clientHeight);
    this.view.scrollTop = this.lastTop ? (this.top / this.lastTop) * range : 0;
    this.placed = this.view.scrollTop;
    this.fill();
    if (this.top < 1) this.options.top();
  }

  // The reader has scrolled: which line is that?
  readScroll() {
    const range = this.view.scrollHeight - this.view.clientHeight;
    this.top = range > 0 ? (this.view.scrollTop / range) * this.lastTop : 0;
    this.follow(this.top >= this.lastTop - 1);
  }

  fill() {
    const first = Math.max(0, Math.floor(this.top) - EXTRA_ROWS);
    const last = Math.min(this.length, Math.ceil(this.top + this.visible) + EXTRA_ROWS);
    while (this.rows.children.length > last - first) this.rows.lastChild.remove();
    while (this.rows.children.length < last - first) this.rows.append(document.createElement("div"));
    for (let index = first; index < last; index += 1) this.fillRow(this.rows.children[index - first], index);
    this.rows.style.transform = `translateY(${this.placed + (first - this.top) * this.rowHeight}px)`;
  }

  // A row that has not changed is left alone, so that selected text stays selected.
  fillRow(row, index) {
    const line = index < this.lines.length ? this.lines[index] : this.tail;
    if (row.line === line) return;
    row.line = line;
    paint(row, line.length > LONGEST_ROW ? `${line.slice(0, LONGEST_ROW)} …` : line);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.visible) - 1);
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.top = Math.min(Math.max(this.top + step, 0), this.lastTop);
    this.follow(this.top >= this.lastTop - 0.5);
  }
}
