// The new-job form: puts the check's findings under their fields, fills in proposed settings, and lets a
// registered dataset or model folder choose its format or model.
(() => {
  const form = document.getElementById("job-form");
  const panel = document.getElementById("verdict");
  const touched = new Set();
  if (!form) return;

  const control = (path) => form.elements.namedItem(path);
  const wrapper = (path) => form.querySelector(`[data-field="${CSS.escape(path)}"]`);

  // A fresh form is not shouted at: a finding appears under its field once the field was used.
  function show(path, findings) {
    const input = control(path);
    const place = document.getElementById(`problem_${path}`);
    if (!input || !place) return;
    place.replaceChildren(...findings.map((finding) => {
      const line = document.createElement("p");
      line.className = `field-problem ${finding.dataset.severity}`;
      line.textContent = finding.querySelector(".finding-words").textContent;
      return line;
    }));
    const hint = document.getElementById(`hint_${path}`) ? `hint_${path}` : "";
    const described = [hint, findings.length ? place.id : ""].filter(Boolean).join(" ");
    described ? input.setAttribute("aria-describedby", described) : input.removeAttribute("aria-describedby");
    const wrong = findings.some((finding) => finding.dataset.severity === "error");
    wrong ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid");
  }

  function place() {
    const byField = new Map();
    for (const finding of panel.querySelectorAll('.finding:not([data-severity="note"])')) {
      const path = finding.dataset.field;
      if (path) byField.set(path, [...(byField.get(path) ?? []), finding]);
    }
    for (const field of form.querySelectorAll("[data-field]")) {
      const path = field.dataset.field;
      show(path, touched.has(path) ? (byField.get(path) ?? []) : []);
    }
  }

  function open(path) {
    const fold = wrapper(path)?.closest("details");
    if (fold) fold.open = true;
  }

  function fill(path, value) {
    const input = control(path);
    if (!input) return;
    if (input.type === "checkbox") input.checked = value === true || value === "on" || value === "true";
    else input.value = value === null ? "" : String(value);
    touched.add(path);
    open(path);
    input.classList.remove("just-filled");
    void input.offsetWidth; // restart the animation
    input.classList.add("just-filled");
  }

  function followSuggestion(input) {
    if (input.name === "model") return followModel(input.value);
    if (!input.list) return;
    const chosen = [...input.list.options].find((option) => option.value === input.value && option.dataset.sets);
    for (const [path, value] of chosen ? Object.entries(JSON.parse(chosen.dataset.sets)) : []) {
      if (control(path) && control(path).value !== value) fill(path, value);
    }
  }

  // The other way round: a chosen model brings its registered folder, unless the folder there is one of its own.
  function followModel(model) {
    const folders = [...control("model_path").list.options].filter((option) => option.dataset.sets && JSON.parse(option.dataset.sets).model === model);
    const current = control("model_path").value;
    if (folders.length && !folders.some((option) => option.value === current)) fill("model_path", folders[0].value);
  }

  function foldLora() {
    const fold = form.querySelector('[data-section="lora"]');
    fold.hidden = control("train.strategy").value !== "lora";
    if (!fold.hidden) fold.open = true;
  }

  // The name follows the choices until the person gives one.
  const suggestedName = () => ["model", "train.stage", "train.strategy"].map((path) => control(path).value).filter(Boolean).join(" ");
  let lastSuggested = suggestedName();
  function followName() {
    const name = control("name");
    if (name.value === lastSuggested) name.value = suggestedName();
    lastSuggested = suggestedName();
  }

  // Adapters start from nothing and want larger steps; a rate that the person gave stays.
  const USUAL_RATE = { full: "1e-5", lora: "1e-4" };
  function followRate(strategy) {
    const rate = control("train.learning_rate");
    if (!touched.has(rate.name) && Object.values(USUAL_RATE).includes(rate.value)) rate.value = USUAL_RATE[strategy] ?? rate.value;
  }

  // Another language is another page: what was entered moves there.
  const KEPT = "trainyard.job-form";
  document.querySelector(".language-switch")?.addEventListener("submit", () => {
    sessionStorage.setItem(KEPT, JSON.stringify([...new FormData(form)]));
  });
  function restore() {
    const kept = sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    if (!kept) return;
    const values = new Map(JSON.parse(kept));
    for (const input of form.elements) {
      if (!input.name || input.name === "csrfmiddlewaretoken") continue;
      if (input.type === "checkbox") input.checked = values.has(input.name);
      else input.value = values.get(input.name) ?? input.value;
    }
    lastSuggested = suggestedName();
    form.dispatchEvent(new Event("change", { bubbles: true })); // the first check may have gone out before this
  }

  form.addEventListener("input", (event) => {
    touched.add(event.target.name);
    followSuggestion(event.target);
    followName();
    if (event.target.name === "train.strategy") {
      foldLora();
      followRate(event.target.value);
    }
  });

  panel.addEventListener("click", (event) => {
    const button = event.target.closest("button.apply");
    const link = event.target.closest('a[href^="#"]');
    if (button) {
      event.preventDefault();
      const sets = Object.entries(JSON.parse(button.value));
      for (const [path, value] of sets) fill(path, value);
      foldLora();
      form.dispatchEvent(new Event("change", { bubbles: true }));
      control(sets[0][0])?.focus();
    } else if (link) {
      const input = document.getElementById(link.getAttribute("href").slice(1));
      if (!input) return;
      event.preventDefault();
      open(input.name);
      input.focus();
    }
  });

  // The panel's own text is replaced as a whole; screen readers hear the sentence from a place that stays.
  function announce() {
    const status = document.getElementById("verdict-status");
    const parts = [...panel.querySelectorAll(".verdict-sentence, .verdict-status")];
    const sentence = parts.map((part) => part.textContent.trim()).join(" ");
    if (status.textContent !== sentence) status.textContent = sentence;
  }

  const lost = (isLost) => (document.getElementById("verdict-lost").hidden = !isLost);
  document.addEventListener("htmx:after:swap", (event) => {
    if ((event.detail.ctx?.response?.raw?.status ?? 200) >= 400) return; // fires for answers that are not swapped in, too
    lost(false);
    place();
    announce();
  });
  for (const name of ["htmx:error", "htmx:response:error"]) {
    document.addEventListener(name, (event) => event.target === panel && event.detail.error?.name !== "AbortError" && lost(true));
  }

  form.addEventListener("submit", (event) => {
    if (event.submitter?.id === "submit") event.submitter.setAttribute("aria-disabled", "true");
  });

  restore();
  foldLora();
  if (form.dataset.firstProblem) {
    // Refused: everything counts as used, and the person starts at the first problem.
    for (const field of form.querySelectorAll("[data-field]")) touched.add(field.dataset.field);
    const first = document.getElementById(form.dataset.firstProblem);
    open(first.name);
    first.focus();
  }
})();
