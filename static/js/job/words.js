// Numbers and times as the page's language writes them; the same rules as the server's filters.
const language = document.documentElement.lang || "en";
const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const four = new Intl.NumberFormat(language, { maximumSignificantDigits: 4 });

export function significant(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return value === null || value === undefined ? "—" : String(value);
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e7)) {
    return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return Number.isInteger(value) || size >= 1000 ? whole.format(value) : four.format(value);
}

export function clock(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  const two = (number) => String(number).padStart(2, "0");
  return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
