// A chart of values over time, a line for each set of labels; without times, a bar for each row.
"use strict";

const COLOURS = ["#0a6cbd", "#d1495b", "#2e8b57", "#e08e0b", "#7d4fb3", "#00838f", "#9c5700", "#5c6b73"];
const WIDTH = 900, HEIGHT = 320, LEFT = 64, RIGHT = 16, TOP = 26, BOTTOM = 34;
const MOST_SERIES = 24, MOST_BARS = 60;

/** Returns an element of SVG with these attributes, and this text. */
function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Returns a number as people write it. */
function number(value) {
  if (!Number.isFinite(value)) return String(value);
  return value.toLocaleString("en", { maximumSignificantDigits: 6 });
}

/** Returns round steps that cover a range of numbers. */
function ticks(low, high, about) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const found = [];
  for (let at = first; at * step <= high + step * 1e-9; at += 1) found.push(at * step + 0); // -0 becomes 0
  return found;
}

const MINUTE = 60e3, HOUR = 3600e3, DAY = 86400e3;
const TIME_STEPS = [1e3, 5e3, 15e3, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY];

/** Returns the moments of a time axis and the text of each. */
function timeTicks(low, high) {
  const step = TIME_STEPS.find((step) => (high - low) / step <= 8) ?? 365 * DAY;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) {
    const text = new Date(at).toISOString();
    const day = text.slice(0, 10), clock = text.slice(11, step < MINUTE ? 19 : 16);
    found.push([at, step >= DAY || (clock === "00:00" && at !== low) ? day : clock]);
  }
  return found;
}

/** Returns the rows of an answer as series of points, a series for each set of labels. */
function seriesOf(answer, value) {
  const { columns, rows } = answer;
  const time = columns.findIndex((column) => column.role === "time");
  const labels = columns.flatMap((column, place) => (column.role === "label" ? [place] : []));
  const series = new Map();
  for (const row of rows) {
    const y = row[value];
    if (typeof y !== "number") continue;
    const name = labels.map((place) => row[place] ?? "").join(" · ");
    if (!series.has(name)) series.set(name, []);
    const text = time < 0 ? "" : String(row[time]);
    // A date has no hour, and a time without a zone is UTC.
    const at = Date.parse(/[zZ]|[+-]\d\d:\d\d$|^\d{4}-\d\d-\d\d$/.test(text) ? text : text + "Z");
    series.get(name).push([at, y]);
  }
  for (const points of series.values()) points.sort((one, other) => one[0] - other[0]);
  return series;
}

/** Draws the column `value` of an answer into `place`, and names its lines in `legend`. Returns whether there is anything to draw. */
function draw(answer, value, place, legend) {
  place.replaceChildren();
  legend.replaceChildren();
  const hasTime = answer.columns.some((column) => column.role === "time");
  const series = seriesOf(answer, value);
  const points = [...series.values()].flat();
  if (points.length < 2) return false;
  const { name, unit } = answer.columns[value];
  const title = unit ? `${name} in ${unit}` : name;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
  let low = Math.min(...points.map((point) => point[1]));
  let high = Math.max(...points.map((point) => point[1]));
  if (!hasTime) low = Math.min(low, 0);
  if (low === high) [low, high] = [low - 1, high + 1];
  const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  for (const at of ticks(low, high, 5)) {
    picture.append(svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }));
    picture.append(svg("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, number(at)));
  }
  if (hasTime) lines(picture, series, y, legend);
  else bars(picture, series, y);
  picture.append(svg("text", { x: LEFT + 4, y: 14 }, title));
  place.append(picture);
  return true;
}

function lines(picture, series, y, legend) {
  const times = [...series.values()].flat().map((point) => point[0]);
  const begin = Math.min(...times);
  const end = Math.max(Math.max(...times), begin + 1);
  const x = (at) => LEFT + ((at - begin) / (end - begin)) * (WIDTH - LEFT - RIGHT);
  for (const [at, text] of timeTicks(begin, end)) {
    picture.append(svg("line", { class: "axis", x1: x(at), x2: x(at), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 5 }));
    picture.append(svg("text", { x: x(at), y: HEIGHT - BOTTOM + 20, "text-anchor": "middle" }, text));
  }
  const named = [...series.entries()];
  named.slice(0, MOST_SERIES).forEach(([name, points], place) => {
    const stroke = COLOURS[place % COLOURS.length];
    const path = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    const line = svg("polyline", { class: "series", points: path, stroke });
    line.append(svg("title", {}, name));
    picture.append(line);
    if (name === "") return;
    const entry = document.createElement("span");
    const sign = svg("svg", { viewBox: "0 0 10 7", "aria-hidden": "true" });
    sign.append(svg("rect", { width: 10, height: 7, fill: stroke }));
    entry.append(sign, name);
    legend.append(entry);
  });
  if (named.length > MOST_SERIES) legend.append(`and ${named.length - MOST_SERIES} more, which are in the table only`);
}

function bars(picture, series, y) {
  const named = [...series.entries()].flatMap(([name, points]) => points.map((point) => [name, point[1]]));
  const shown = named.slice(0, MOST_BARS);
  const width = (WIDTH - LEFT - RIGHT) / shown.length;
  shown.forEach(([name, value], place) => {
    const left = LEFT + place * width;
    const [top, bottom] = [y(Math.max(value, 0)), y(Math.min(value, 0))];
    const bar = svg("rect", { class: "bar", x: left + width * 0.1, width: width * 0.8, y: top, height: Math.max(bottom - top, 1), fill: COLOURS[0] });
    bar.append(svg("title", {}, `${name} ${number(value)}`));
    picture.append(bar);
    if (shown.length <= 12) {
      picture.append(svg("text", { x: left + width / 2, y: HEIGHT - BOTTOM + 20, "text-anchor": "middle" }, name));
    }
  });
}
