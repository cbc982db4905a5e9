// A page that shows something unfinished asks whether it is there, and then shows itself again.
const EVERY = 700;
const SLOWEST = 10_000;

export function wait() {
  const place = document.querySelector("[data-wait]");
  if (!place) return;
  let pause = EVERY;
  const ask = async () => {
    try {
      const response = await fetch(place.dataset.wait, { headers: { Accept: "application/json" } });
      if (response.status === 404) return location.reload(); // logged out, or taken away: the page says so
      if (response.ok && (await response.json()).ended) return location.reload();
      pause = response.ok ? EVERY : Math.min(2 * pause, SLOWEST);
    } catch {
      pause = Math.min(2 * pause, SLOWEST);
    }
    setTimeout(ask, pause);
  };
  setTimeout(ask, EVERY);
}
