// A page that shows something unfinished asks whether it is there, and then shows itself again.
import { fill, significant } from "../job/words.js";

const EVERY = 700;
const SLOWEST = 10_000;

function show(place, { rows, bytes, size }) {
  if (!size) return;
  const bar = place.querySelector("[data-bar]");
  bar.max = size;
  bar.value = Math.min(bytes, size);
  const words = place.querySelector("[data-rows]");
  words.textContent = fill(words.dataset.text, { rows: significant(rows) });
}

export function wait() {
  const place = document.querySelector("[data-wait]");
  if (!place) return;
  let pause = EVERY;
  const ask = async () => {
    try {
      const response = await fetch(place.dataset.wait, { headers: { Accept: "application/json" } });
      if (response.status === 404) return location.reload(); // logged out, or taken away: the page says so
      const state = response.ok ? await response.json() : {};
      if (state.ended) return location.reload();
      show(place, state);
      pause = response.ok ? EVERY : Math.min(2 * pause, SLOWEST);
    } catch {
      pause = Math.min(2 * pause, SLOWEST);
    }
    setTimeout(ask, pause);
  };
  setTimeout(ask, EVERY);
}
