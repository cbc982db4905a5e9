// The view of a row: arrows turn to its neighbours, `g` goes to the number.
import { wait } from "./wait.js";

wait();
const jump = document.getElementById("jump");
jump.addEventListener("submit", (event) => {
  event.preventDefault();
  const row = document.getElementById("jump-row").value.trim();
  if (/^[1-9]\d{0,14}$/.test(row)) location.assign(jump.dataset.url.replace("/rows/0/", `/rows/${row}/`));
});
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest("input, textarea, select, [role=region]")) return;
  const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (link) link.click();
  else if (event.key === "g") {
    event.preventDefault();
    document.getElementById("jump-row").select();
  }
});
