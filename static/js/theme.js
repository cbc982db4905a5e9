// Loaded in <head> before the style sheets' first paint, so that a dark page never flashes light.
(() => {
  const KEY = "trainyard-theme";
  const ORDER = ["auto", "light", "dark"];
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      const value = localStorage.getItem(KEY);
      return ORDER.includes(value) ? value : "auto";
    } catch {
      return "auto"; // storage forbidden: follow the system
    }
  };
  let choice = stored();

  function apply() {
    const dark = choice === "dark" || (choice === "auto" && system.matches);
    document.documentElement.dataset.bsTheme = dark ? "dark" : "light";
    document.dispatchEvent(new CustomEvent("trainyard:theme", { detail: { dark } }));
  }

  function label(button) {
    button.setAttribute("aria-label", button.dataset[choice]);
    button.title = button.dataset[choice];
    for (const icon of button.querySelectorAll("[data-theme-icon]")) icon.hidden = icon.dataset.themeIcon !== choice;
  }

  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme-toggle");
    if (!button) return;
    button.hidden = false;
    label(button);
    button.addEventListener("click", () => {
      choice = ORDER[(ORDER.indexOf(choice) + 1) % ORDER.length];
      try {
        localStorage.setItem(KEY, choice);
      } catch {
        // remembered for this page only
      }
      apply();
      label(button);
    });
  });
})();
