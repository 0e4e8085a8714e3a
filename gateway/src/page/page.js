// The page: tables, a statement, its answer, and what was asked of the server.
"use strict";

const $ = (id) => document.getElementById(id);
let running = null;
let shown = null;

/** Asks a statement. Throws the gateway's error. */
async function ask(sql, { limit = 0, signal } = {}) {
  const response = await fetch("api/ask", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ sql, max_bootstraps: limit }),
    signal,
  });
  const text = await response.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw { message: text || response.statusText };
  }
  if (!response.ok) throw answer;
  return answer;
}

/** Returns an element with a class and text. */
function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Returns the text of a cell. */
function cellText(value, role) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return number(value);
  if (role === "time") return String(value).replace("T", " ").replace(/(:00)?(Z|\+00:00)?$/, "");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns the table of an answer. */
function table(answer) {
  const scroll = element("div", "scroll");
  const made = element("table");
  const head = made.createTHead().insertRow();
  for (const { name, unit, role } of answer.columns) {
    const title = unit ? `${name} (${unit})` : name;
    head.append(element("th", role === "value" ? "number" : "", title));
  }
  const body = made.createTBody();
  for (const row of answer.rows) {
    const line = body.insertRow();
    row.forEach((value, place) => {
      const { role } = answer.columns[place];
      const kind = value === null ? "missing" : role === "value" ? "number" : "";
      line.append(element("td", kind, cellText(value, role)));
    });
  }
  scroll.append(made);
  return scroll;
}

/** Shows an answer as a chart, where it has values, and as a table. */
function show(answer) {
  shown = answer;
  const values = answer.columns.flatMap(({ role }, place) => (role === "value" ? [place] : []));
  $("value").replaceChildren(...values.map((place) => new Option(answer.columns[place].name, place)));
  $("figure").hidden = values.length === 0 || !draw(answer, values[0], $("chart"), $("legend"));
  $("answer").replaceChildren(table(answer));
}

/** Shows an error of the gateway. */
function fail(error) {
  const code = error.code ? ` (${error.code})` : "";
  const hint = error.hint ? `\n${error.hint}` : "";
  $("failure").textContent = `${error.message}${code}${hint}`;
  $("failure").hidden = false;
}

/** Asks what is in the form, with `before` in front of it. */
async function submit(before) {
  const sql = $("sql").value.trim();
  if (!sql || running) return;
  running = new AbortController();
  $("stop").disabled = false;
  $("failure").hidden = true;
  const started = performance.now();
  const tick = () => {
    const seconds = (performance.now() - started) / 1000;
    $("state").textContent = `asking … ${seconds.toFixed(0)} s`;
  };
  tick();
  const clock = setInterval(tick, 500);
  try {
    const limit = Math.max(0, Math.floor(Number($("limit").value) || 0));
    const answer = await ask(before + sql, { limit, signal: running.signal });
    show(answer);
    const all = answer.all_rows;
    const cut = all > answer.rows.length ? `, of which ${number(answer.rows.length)} are shown` : "";
    const rows = `${all.toLocaleString("en")} ${all === 1 ? "row" : "rows"}${cut}`;
    $("state").textContent = `${rows} in ${number(Number(answer.seconds.toPrecision(3)))} s`;
  } catch (error) {
    $("state").textContent = error.name === "AbortError" ? "stopped" : "";
    if (error.name !== "AbortError") fail(error);
  } finally {
    clearInterval(clock);
    running = null;
    $("stop").disabled = true;
    queries();
  }
}

/** Shows the last questions and what they took. */
async function queries() {
  try {
    const columns = "asked, questions, devices, groups, cached_groups, bootstraps, seconds, bytes";
    const answer = await ask(`SELECT ${columns} FROM queries ORDER BY asked DESC LIMIT 20`);
    const nothing = element("p", "quiet", "nothing yet: answers of before come from this machine");
    $("queries").replaceChildren(answer.rows.length ? table(answer) : nothing);
  } catch (error) {
    fail(error);
  }
}

/** Shows the tables, and offers statements about the first column of readings. */
async function tables() {
  const names = await ask("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1");
  const lists = await Promise.all(names.rows.map(async ([name]) => [name, await ask(`SELECT * FROM "${name.replaceAll('"', '""')}" LIMIT 0`)]));
  $("tables").replaceChildren(...lists.map(([name, { columns }]) => {
    const made = element("details");
    made.open = name === "readings";
    made.append(element("summary", "", name));
    const list = element("ul");
    for (const column of columns) {
      const item = element("li", "", column.name + " ");
      item.append(element("span", "", column.unit ?? ""));
      list.append(item);
    }
    made.append(list);
    return made;
  }));
  const readings = lists.find(([name]) => name === "readings");
  const value = readings?.[1].columns.find((column) => column.role === "value")?.name;
  if (!value) return;
  const quoted = `"${value.replaceAll('"', '""')}"`;
  const bucket = (unit) => `SELECT date_trunc('${unit}', time) AS ${unit}, device, avg(${quoted})\nFROM readings GROUP BY 1, 2 ORDER BY 1, 2`;
  const offers = [
    ["hourly means of each device", bucket("hour")],
    ["daily means of each device", bucket("day")],
    ["the mean of each device", `SELECT device, avg(${quoted}), count(*)\nFROM readings GROUP BY device ORDER BY device`],
    ["the last reading of each device", `SELECT DISTINCT ON (device) device, time, ${quoted}\nFROM readings ORDER BY device, time DESC`],
    ["devices", "SELECT * FROM devices ORDER BY device"],
  ];
  for (const [name, sql] of offers) $("examples").append(new Option(name, sql));
  if (!$("sql").value) $("sql").value = offers[0][1];
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  submit("");
});
$("explain").addEventListener("click", () => submit("EXPLAIN "));
$("stop").addEventListener("click", () => running?.abort());
$("examples").addEventListener("change", () => {
  if ($("examples").value) $("sql").value = $("examples").value;
});
$("value").addEventListener("change", () => draw(shown, Number($("value").value), $("chart"), $("legend")));
$("sql").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit("");
});
tables().catch(fail);
queries();
