// The parts of the page that the server renders: replaced one by one, and only where they differ, so that focus and
// selected text stay. The progress bar and the numbers are kept up to date from events in between.
import { clock, fill, significant } from "./words.js";

export class LiveParts {
  constructor(root) {
    this.root = root;
    this.seen = new Map();
    this.skew = 0; // the server's clock minus ours, ms
    this.lang = root.dataset;
    setInterval(() => this.tick(), 1000);
    this.tick();
  }

  get head() {
    return this.root.querySelector("[data-state]").dataset;
  }

  get ended() {
    return this.head.ended === "true";
  }

  // Ask the server. Returns the HTTP status, or 0 without a server.
  async refresh() {
    try {
      const response = await fetch(this.lang.headerUrl);
      if (!response.ok) return response.status;
      this.skew = Date.parse(response.headers.get("Date")) - Date.now() || 0;
      this.replace(new DOMParser().parseFromString(await response.text(), "text/html"));
      return response.status;
    } catch {
      return 0;
    }
  }

  replace(page) {
    const before = this.states();
    for (const fresh of page.querySelectorAll("[data-part]")) {
      const html = fresh.outerHTML.replace(/name="csrfmiddlewaretoken" value="[^"]*"/, "");
      const old = this.root.querySelector(`[data-part="${fresh.dataset.part}"]`);
      if (this.seen.get(fresh.dataset.part) === html || isOlder(fresh, old)) continue;
      this.seen.set(fresh.dataset.part, html);
      old.replaceWith(document.adoptNode(fresh));
    }
    this.tick();
    this.announce(before, this.states());
  }

  states() {
    const stages = [...this.root.querySelectorAll("[data-stage-state]")];
    return new Map([
      ["", this.root.querySelector("[data-state]").textContent],
      ...stages.map((stage) => [stage.dataset.stage, stage.querySelector("[data-label]").textContent]),
    ]);
  }

  // One polite sentence for screen readers, only when a state has changed.
  announce(before, after) {
    const changed = [...after].filter(([name, state]) => before.get(name) !== state);
    if (!changed.length) return;
    const sentence = ([name, state]) => fill(name ? this.lang.textStage : this.lang.textState, { stage: name, state });
    document.getElementById("job-status").textContent = changed.map(sentence).join(". ");
  }

  tick() {
    for (const element of this.root.querySelectorAll("[data-since]")) {
      element.textContent = clock((Date.now() + this.skew) / 1000 - Number(element.dataset.since));
    }
  }

  metric(data) {
    const part = this.root.querySelector('[data-part="numbers"]');
    part.dataset.iteration = data.iteration;
    for (const element of part.querySelectorAll("[data-number]")) {
      if (element.dataset.number in data) element.firstChild.textContent = significant(data[element.dataset.number]);
    }
    part.querySelector("[data-total]").textContent = data.total_iterations ? ` / ${significant(data.total_iterations)}` : "";
  }

  progress(stage, { done, total, unit, seconds_left: left }) {
    const part = this.root.querySelector('[data-part="progress"]');
    Object.assign(part.dataset, { stage, done, total: total ?? "" });
    const bar = part.querySelector("progress");
    bar.hidden = false;
    const share = total ? Math.min(100, Math.floor((100 * done) / total)) : null;
    if (share === null) bar.removeAttribute("value");
    else bar.value = share;
    const of = total ? ` / ${significant(total)}` : "";
    const percent = share === null ? "" : ` · ${share}%`;
    part.querySelector("[data-progress-words]").textContent = `${stage} · ${significant(done)}${of} ${unit ?? ""}${percent}`;
    part.querySelector("[data-time-left]").textContent = left ? fill(this.lang.textLeft, { time: clock(left) }) : "";
  }
}

// Numbers that came by the socket may be newer than the answer of the server.
function isOlder(fresh, old) {
  const { part, iteration, stage, done } = fresh.dataset;
  if (part === "numbers") return Number(iteration || 0) < Number(old.dataset.iteration || 0);
  return part === "progress" && stage === old.dataset.stage && Number(done || 0) < Number(old.dataset.done || 0);
}
