// Puts one line of terminal output into an element: colours as classes, never as markup.
const CODES = /\x1b\[([0-9;]*)m/g;
const OTHERS = /\x1b(?:\[[0-9;?]*[A-Za-ln-z]|\][^\x07]*\x07|[()][A-Z0-9])/g;
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const BAD = /\b(?:ERROR|CRITICAL|FATAL)\b|^Traceback |^\w*(?:Error|Exception)\b:/;
const WARNING = /\bWARN(?:ING)?\b|\w+Warning:/;

// What a terminal would leave on the screen: a carriage return begins the line again.
export function shown(line) {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1);
}

export function paint(element, line) {
  const text = shown(line).replace(OTHERS, "");
  element.className = `log-row${BAD.test(text) ? " log-bad" : WARNING.test(text) ? " log-warning" : ""}`;
  if (!text.includes("\x1b")) {
    element.textContent = text;
    return;
  }
  element.replaceChildren();
  let place = 0;
  let style = { colour: "", bold: false };
  for (const match of text.matchAll(CODES)) {
    add(element, text.slice(place, match.index), style);
    style = match[1].split(";").reduce(changed, style);
    place = match.index + match[0].length;
  }
  add(element, text.slice(place), style);
}

function changed(style, code) {
  const number = Number(code);
  if (number === 0) return { colour: "", bold: false };
  if (number === 1) return { ...style, bold: true };
  if (number === 22) return { ...style, bold: false };
  if (number === 39) return { ...style, colour: "" };
  if (number >= 30 && number <= 37) return { ...style, colour: COLOURS[number - 30] };
  if (number >= 90 && number <= 97) return { ...style, colour: COLOURS[number - 90] };
  return style;
}

function add(element, text, { colour, bold }) {
  if (!text) return;
  const span = element.appendChild(document.createElement("span"));
  span.textContent = text;
  if (colour) span.classList.add(`ansi-${colour}`);
  if (bold) span.classList.add("ansi-bold");
}
