// The key owner's page. Files go into the memory of a fresh instance of the module, which gives
// JSON; the page shows it, as text only. An instance's memory is overwritten before it is dropped.
"use strict";
(() => {
  const SLOTS = ["key", "result"];
  // The place of a message's kind in its header, and a secret key's (docs/wire-format.md).
  const KIND_AT = 6;
  const SECRET_KEY = 4;

  const byId = (id) => document.getElementById(id);
  const files = { key: null, result: null };
  let json = null;

  const bytesOfModule = Uint8Array.from(atob(byId("module").textContent.trim()), (c) => c.charCodeAt(0));
  const module = WebAssembly.compile(bytesOfModule);

  /** An element with attributes, and children that are elements or text. */
  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  // Figures as the program prints them, which rounds halves to even.
  const PLAIN = new Intl.NumberFormat("en", {
    maximumFractionDigits: 4, roundingMode: "halfEven", useGrouping: false,
  });
  const number = (value) => {
    if (value === null) return "not a number";
    const text = PLAIN.format(value);
    return text === "-0" ? "0" : text;
  };
  const withUnit = (value, unit) => {
    if (value === null) return "missing";
    return unit ? `${number(value)} ${unit}` : number(value);
  };
  const count = (value) => value.toLocaleString("en");
  const size = (bytes) => {
    if (bytes < 1024) return `${bytes} B`;
    if (bytes < 1048576) return `${(bytes / 1024).toFixed(1)} KiB`;
    return `${(bytes / 1048576).toFixed(1)} MiB`;
  };

  /** Runs the module once; `{Ok}` or `{Err}` as it says. */
  const decrypt = async (key, result) => {
    const instance = await WebAssembly.instantiate(await module, {});
    const wasm = instance.exports;
    const put = (bytes) => {
      // Addresses are unsigned, numbers of the module are not.
      const at = wasm.tfhe_sbc_web_allocate(bytes.length) >>> 0;
      if (at === 0) throw new RangeError("no memory");
      new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
      return at;
    };
    try {
      const keyAt = put(key);
      const resultAt = put(result);
      const at = wasm.tfhe_sbc_web_decrypt(keyAt, key.length, resultAt, result.length) >>> 0;
      const [start, length] = new Uint32Array(wasm.memory.buffer, at, 2);
      const text = new Uint8Array(wasm.memory.buffer, start, length);
      return JSON.parse(new TextDecoder().decode(text));
    } catch {
      return { Err: {
        file: "result",
        message: "it could not be decrypted here: it is too large for the page, or the page failed",
        advice: "use the program: tfhe-sbc decrypt --key secret.tsbc result.tsbc",
      } };
    } finally {
      new Uint8Array(wasm.memory.buffer).fill(0);
    }
  };

  const listed = (what, items) => make("div", {},
    make("span", { class: "count" }, what),
    make("ul", {}, ...items.map((item) => make("li", {}, item))));

  const perRow = (rows, shown) => make("div", { class: "rows" }, make("table", {}, make("tbody", {},
    ...rows.map(({ row, value }) => make("tr", {},
      make("th", { scope: "row" }, row), make("td", {}, shown(value)))))));

  const bar = (share) => {
    const name = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(name, "svg");
    svg.setAttribute("aria-hidden", "true");
    const rect = document.createElementNS(name, "rect");
    rect.setAttribute("width", `${100 * share}%`);
    rect.setAttribute("height", "100%");
    svg.append(rect);
    return svg;
  };

  const histogram = ({ bins, outside, unit }) => {
    const most = Math.max(1, ...bins.map((bin) => bin.count));
    const line = (name, of, share) => make("tr", {},
      make("th", { scope: "row" }, name),
      make("td", { class: "number" }, count(of)),
      make("td", { class: "bar" }, ...(share === null ? [] : [bar(share)])));
    const lines = bins.map(({ from, to, count: of }) =>
      line(`[${number(from)}, ${number(to)})${unit ? ` ${unit}` : ""}`, of, of / most));
    if (outside > 0) lines.push(line("in no bin", outside, null));
    return make("div", { class: "rows bins" }, make("table", {}, make("tbody", {}, ...lines)));
  };

  /** Returns the text that an answer is shown as. */
  const shown = (answer) => {
    if (Array.isArray(answer)) {
      if (answer.length === 0) return make("span", { class: "none" }, "none");
      return listed(answer.length === 1 ? "1 row" : `${count(answer.length)} rows`, answer);
    }
    if (answer.bins) return histogram(answer);
    if (answer.values) {
      const values = answer.values.map((value) => withUnit(value, answer.unit));
      return listed(values.length === 1 ? "1 value" : `${count(values.length)} values`, values);
    }
    if (answer.rows) {
      return perRow(answer.rows, (value) =>
        (typeof value === "string" ? value : withUnit(value, answer.unit)));
    }
    const value = make("span", { class: "number" }, withUnit(answer.value, answer.unit));
    return answer.row === undefined ? value : make("span", {}, `${answer.row}: `, value);
  };

  const showFailure = (file, { message, advice }) => {
    byId("failure").replaceChildren(
      make("p", {}, make("strong", {}, file), `: ${message}`),
      ...(advice ? [make("p", {}, advice)] : []));
    byId("failure").hidden = false;
  };

  const showAnswers = ({ answers, bootstraps, key }, { key: keyFile, result }) => {
    json = JSON.stringify({ answers, bootstraps }, null, 2);
    byId("table").tBodies[0].replaceChildren(...answers.map(({ name, answer, missing, error }) => make("tr", {},
      make("th", { scope: "row" }, name),
      make("td", {}, error === undefined ? shown(answer) : `cannot be read: ${error}`,
        ...(missing ? [` (${count(missing)} missing)`] : [])))));
    const facts = [
      ["Result", `${result.name} (${size(result.size)})`],
      ["Bootstraps it took", count(bootstraps)],
      ["Key", keyFile.name],
      ["Key set", key.fingerprint],
      ["Parameter set", key.parameter_set],
      ["Security", `${key.security_bits.toFixed(1)} bits`],
      ["Failure of a bootstrap", `2^${key.log2_p_fail.toFixed(1)}`],
    ];
    byId("facts").replaceChildren(...facts.flatMap(([name, value]) =>
      [make("dt", {}, name), make("dd", {}, value)]));
    byId("answers").hidden = false;
    byId("answers").focus();
  };

  const hideAll = () => {
    json = null;
    byId("failure").hidden = true;
    byId("answers").hidden = true;
    byId("failure").replaceChildren();
    byId("table").tBodies[0].replaceChildren();
    byId("facts").replaceChildren();
  };

  const showChosen = () => {
    for (const slot of SLOTS) {
      const file = files[slot];
      byId(`${slot}-chosen`).textContent = file ?
        `${file.name} · ${size(file.size)}` : "Choose a file, or drop it anywhere on the page";
      byId(slot).closest(".file").classList.toggle("has", file !== null);
    }
  };

  const choose = (slot, file) => {
    files[slot] = file ?? null;
    hideAll();
    showChosen();
  };

  const isSecretKey = async (file) => {
    try {
      return new Uint8Array(await file.slice(0, KIND_AT + 1).arrayBuffer())[KIND_AT] === SECRET_KEY;
    } catch {
      return false;
    }
  };

  const read = async (slot) => {
    try {
      return new Uint8Array(await files[slot].arrayBuffer());
    } catch {
      showFailure(files[slot].name, { message: "the browser could not read it", advice: "choose it again: it was moved or changed" });
      return null;
    }
  };

  const run = async () => {
    hideAll();
    for (const slot of SLOTS) {
      if (files[slot] === null) {
        const [name, advice] = slot === "key" ?
          ["Secret key", "choose the file that tfhe-sbc keygen wrote, often keys/secret.tsbc"] :
          ["Result", "choose the file that tfhe-sbc query or eval wrote"];
        showFailure(name, { message: "no file is chosen", advice });
        byId(slot).focus();
        return;
      }
    }
    byId("decrypt").disabled = true;
    const chosen = { ...files };
    const buffers = [await read("key"), await read("result")];
    try {
      if (buffers.includes(null)) return;
      const outcome = await decrypt(...buffers);
      // Whoever chose another file meanwhile sees nothing of this one.
      if (chosen.key !== files.key || chosen.result !== files.result) return;
      if (outcome.Ok) showAnswers(outcome.Ok, chosen);
      else showFailure(chosen[outcome.Err.file].name, outcome.Err);
    } finally {
      buffers[0]?.fill(0);
      byId("decrypt").disabled = false;
    }
  };

  for (const slot of SLOTS) byId(slot).addEventListener("change", () => choose(slot, byId(slot).files[0]));
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  byId("form").addEventListener("reset", () => SLOTS.forEach((slot) => choose(slot, null)));
  byId("save").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([json, "\n"], { type: "application/json" }));
    make("a", { href: url, download: "answers.json" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });

  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  addEventListener("drop", async (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    for (const file of [...event.dataTransfer.files]) {
      const slot = await isSecretKey(file) ? "key" : "result";
      byId(slot).value = "";
      choose(slot, file);
    }
  });
  // A reloaded page remembers file inputs, not files.
  byId("form").reset();
})();
