// The job page: everything is derived from events.jsonl and from what the server renders, so a page that was closed,
// asleep or cut off is complete again as soon as it is back.
import { Chart } from "./charts.js";
import { LiveParts } from "./live.js";
import { LogSource } from "./log_source.js";
import { LogView } from "./log.js";
import { RunSocket } from "./socket.js";
import { fill, significant } from "./words.js";

const EVENTS = "events.jsonl";
const POLL_MS = 3000;
const HURRY_MS = 150;
const GOODBYE_MS = 6000;

const root = document.getElementById("job");
const texts = root.dataset;
const live = new LiveParts(root);
const charts = [...root.querySelectorAll("[data-chart]")].map(
  (figure) => new Chart(figure, texts.seriesUrl, { broken: texts.textBroken }),
);
const socket = live.ended ? null : new RunSocket(texts.socketPath, { text: takeText, state: connectionState });

// Log
const files = document.getElementById("log-file");
const follow = document.getElementById("log-follow");
const count = document.getElementById("log-count");
const download = document.getElementById("log-download");
let chosen = false; // whether the reader has chosen a file; until then the log of the present stage is shown
const view = new LogView(document.getElementById("log-view"), {
  count: (lines) => showCount(lines),
  following: (on) => (follow.checked = on),
  top: () => log.earlier(),
});
const log = new LogSource(texts.filesUrl, view, socket);

function showCount(lines) {
  document.getElementById("log-empty").hidden = lines > 0;
  document.getElementById("log-view").hidden = lines === 0;
  count.textContent = lines ? fill(log.start > 0 ? count.dataset.textMore : count.dataset.text, { count: significant(lines) }) : "";
}

function openLog(file) {
  if (![...files.options].some((option) => option.value === file)) files.add(new Option(file, file));
  if (log.file === file) return;
  files.value = file;
  files.disabled = false;
  download.href = log.url(file, "download=1");
  download.hidden = false;
  log.open(file);
}

files.addEventListener("change", () => {
  chosen = true;
  openLog(files.value);
});
follow.addEventListener("change", () => view.follow(follow.checked));

// Events
let rest = ""; // the beginning of an event whose end has not come yet

function takeText(file, _start, _end, text) {
  if (file !== EVENTS) {
    log.take(file, text);
    return;
  }
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) if (line) takeEvent(JSON.parse(line));
}

function takeEvent({ seq, rank, kind, stage, data }) {
  if (kind === "metric") {
    if (rank !== 0) return;
    live.metric(data);
    for (const chart of charts) if (chart.key in data) chart.push(seq, data.iteration, data[chart.key]);
  } else if (kind === "progress") {
    if (stage) live.progress(stage, data); // without a stage it counts the stages of the run
  } else {
    if (kind === "started" && stage && !chosen) openLog(`logs/${stage}.0.log`);
    hurry();
  }
}

// The server's parts
let timer = 0;

function hurry() {
  clearTimeout(timer);
  timer = setTimeout(refresh, HURRY_MS);
}

async function refresh() {
  clearTimeout(timer);
  const status = document.visibilityState === "visible" ? await live.refresh() : 0;
  if (status === 404 || status === 403) {
    connectionState("gone");
    return;
  }
  if (live.ended) {
    await finish();
    return;
  }
  restartIfDeaf();
  timer = setTimeout(refresh, POLL_MS);
}

// The server has events that have not come by the socket for two polls: the connection is dead without knowing it.
let behindSince = null;
function restartIfDeaf() {
  const cursor = socket.cursors.get(EVENTS);
  const behind = socket.isOpen && cursor < Number(live.head.eventsEnd);
  if (behind && behindSince === cursor) socket.restart();
  behindSince = behind ? cursor : null;
}

let finished = false;
async function finish() {
  if (finished) return;
  finished = true;
  for (const chart of charts) if (chart.asked && !chart.range) chart.load();
  // The last lines and files may come a moment after the state.
  setTimeout(async () => {
    await live.refresh();
    socket.close();
    document.getElementById("job-connection").hidden = true;
  }, GOODBYE_MS);
}

function connectionState(state) {
  const sign = document.getElementById("job-connection");
  sign.hidden = state === "open" || finished;
  sign.textContent = state === "gone" ? texts.textGone : texts.textOffline;
  root.dataset.connection = state;
}

// Begin with the log of the stage that matters now.
const stageIn = (state) => root.querySelector(`[data-stage-state="${state}"]`)?.dataset.stage;
const names = [...files.options].map((option) => option.value);
const now = stageIn("running") ?? stageIn("failed") ?? stageIn("stopped");
const wanted = now ? `logs/${now}.0.log` : "logs/train.0.log";
const first = names.includes(wanted) || (socket && now) ? wanted : names.at(-1);
files.disabled = names.length === 0;
showCount(0);
if (first) openLog(first);
if (socket) {
  socket.follow(EVENTS, Number(texts.eventsOffset));
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && !finished && hurry());
  timer = setTimeout(refresh, POLL_MS);
}
new MutationObserver(() => charts.forEach((chart) => chart.recolour())).observe(document.documentElement, {
  attributeFilter: ["data-bs-theme"],
});

export { charts, log, socket, view }; // for tests and for the curious
