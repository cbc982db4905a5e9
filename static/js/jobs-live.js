// Refetches a row of the job list when the server hints that its run has changed. A hint that is lost
// costs nothing: on every connect, and every 15 seconds while a run is active, all rows on show are asked again.
(() => {
  const table = document.querySelector("[data-jobs-live]");
  if (!table) return;
  const POLL_MS = 15000;
  const waiting = new Set();
  let delay = 500;

  const refresh = (row) => row && htmx.trigger(row, "refresh");
  const rows = () => table.querySelectorAll("tr[data-run]");
  const active = () => [...rows()].filter((row) => row.querySelector(".state-primary, .state-info, .state-secondary, .state-warning"));

  function hint(runId) {
    if (waiting.has(runId)) return;
    waiting.add(runId);
    setTimeout(() => {
      waiting.delete(runId);
      refresh(table.querySelector(`tr[data-run="${CSS.escape(runId)}"]`));
    }, 300);
  }

  function connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws/jobs/`);
    socket.addEventListener("open", () => {
      delay = 500;
      active().forEach(refresh);
    });
    socket.addEventListener("message", (event) => {
      const message = JSON.parse(event.data);
      if (message.run_id !== undefined) hint(String(message.run_id));
    });
    socket.addEventListener("close", (event) => {
      if (event.code === 4401 || event.code === 4403) return; // logged out: a reload will say so
      setTimeout(connect, delay);
      delay = Math.min(delay * 2, 30000);
    });
  }

  addEventListener("load", () => {
    connect();
    setInterval(() => document.visibilityState === "visible" && active().forEach(refresh), POLL_MS);
  });
})();
