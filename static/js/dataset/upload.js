// The upload panel.
import { fill } from "../job/words.js";
import { Refused, Sending, Stopped, Unreadable } from "./sending.js";

const form = document.getElementById("upload");
const one = (id) => document.getElementById(`upload-${id}`);
const size = (bytes) => {
  const power = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power ? 1 : 0)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
};

function tell(words, aloud) {
  one("words").textContent = words;
  if (aloud) one("status").textContent = words;
}

function busy(is) {
  one("start").disabled = is;
  one("file").disabled = is;
  one("stop").hidden = !is;
  if (is) form.querySelector(".upload-progress").hidden = false;
}

function fail(words) {
  one("problem").textContent = words;
  one("problem").hidden = !words;
}

let last = "";
function say(file, what, done) {
  const percent = Math.floor((100 * done) / file.size);
  one("progress").value = percent;
  tell(fill(form.dataset[`text${what[0].toUpperCase()}${what.slice(1)}`], { sent: size(done), size: size(file.size), percent: `${percent} %` }), what !== last);
  last = what;
}

async function start(event) {
  event.preventDefault();
  const file = one("file").files[0];
  if (!file) return one("file").focus();
  fail("");
  busy(true);
  const token = form.elements.namedItem("csrfmiddlewaretoken").value;
  const sending = new Sending(file, token, (what, done) => say(file, what, done));
  one("stop").onclick = () => sending.stop();
  try {
    const state = await sending.run(form.dataset.url, Number(one("team").value), one("name").value);
    if (!state.dataset) throw new Refused();
    location.assign(state.dataset);
  } catch (error) {
    busy(false);
    if (error instanceof Stopped) tell(form.dataset.textStopped, true);
    else if (error instanceof Unreadable) fail(form.dataset.textUnreadable);
    else if (error instanceof Refused) fail(error.message || form.dataset.textFailed);
    else throw error;
  }
}

async function remove(button) {
  const row = button.closest("[data-upload]");
  const token = form.elements.namedItem("csrfmiddlewaretoken").value;
  const response = await fetch(row.dataset.upload, { method: "DELETE", headers: { "X-CSRFToken": token } });
  if (response.ok || response.status === 404) row.remove();
  else fail(form.dataset.textFailed);
}

if (form) {
  form.addEventListener("submit", start);
  for (const button of form.querySelectorAll("[data-remove]")) button.addEventListener("click", () => remove(button));
}
