// The page: fields, results, address, and the code to copy. Numbers come from model.js, pictures from charts.js.
(function (explorer) {
  "use strict";

  const SIZES = ["vocab", "seq_len", "dim", "samples"];
  const LARGEST = 2 ** 31 - 1;  // as rb.Setting
  const START = { vocab: 256, seq_len: 128, dim: 96, samples: 2048, trigger_in_values: false, width: null };
  const STEPS = 1000; // of a slider, in the logarithm

  const root = document.getElementById("explorer-page");
  const input = (name) => root.querySelector(`input[name="${name}"]`);
  const output = (name) => root.querySelector(`output[name="${name}"]`);
  const slider = (name) => root.querySelector(`input[data-slides="${name}"]`);

  // -- Fields ----------------------------------------------------------------------------------------

  // A whole number, or what is wrong with the text in words.
  function size(text, smallest) {
    const value = text.trim() === "" ? NaN : Number(text);
    if (!Number.isInteger(value) || value < smallest || value > LARGEST) {
      return { problem: `Give a whole number of at least ${smallest}.` };
    }
    return { value };
  }

  function readField(name) {
    const field = input(name);
    // A browser hands over "" for text that is no number; an empty width is no MLP.
    if (name === "width" && field.value.trim() === "" && !field.validity.badInput) return { value: null };
    const found = size(field.value, name === "vocab" ? 2 : 1);
    if (name === "width" && found.problem) return { problem: "Give a whole number of at least 1, or leave it empty." };
    return found;
  }

  function say(name, problem) {
    const field = input(name), place = document.getElementById(`explorer-${name}-problem`);
    if (place.textContent !== (problem || "")) place.textContent = problem || "";
    if (problem) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }

  // The setting that the fields give; null where one of them holds none.
  function read() {
    const setting = { trigger_in_values: input("trigger_in_values").checked };
    let complete = true;
    for (const name of [...SIZES, "width"]) {
      const { value, problem } = readField(name);
      say(name, problem);
      if (problem) complete = false;
      else setting[name] = value;
    }
    return complete ? setting : null;
  }

  function write(setting) {
    for (const name of [...SIZES, "width"]) {
      const value = setting[name] ?? "";
      input(name).value = Number.isFinite(Number(value)) ? value : ""; // a field for numbers takes nothing else
    }
    input("trigger_in_values").checked = setting.trigger_in_values;
  }

  // Sliders follow the fields, in the logarithm.
  function moveSliders(setting) {
    for (const name of SIZES) {
      const [low, high] = explorer.range(name, setting), bar = slider(name);
      const share = Math.log(setting[name] / low) / Math.log(high / low);
      bar.value = Math.round(STEPS * Math.min(1, Math.max(0, share)));
      bar.setAttribute("aria-valuetext", String(setting[name]));
    }
  }

  function slide(name) {
    const known = { ...START, ...read() };
    const [low, high] = explorer.range(name, known);
    const value = Math.round(low * (high / low) ** (slider(name).value / STEPS));
    input(name).value = Math.min(Math.floor(high), Math.max(Math.ceil(low), value));
  }

  // -- Address ---------------------------------------------------------------------------------------

  function address(setting) {
    const names = [...SIZES, "trigger_in_values", "width"].filter((name) => setting[name] !== null);
    const parts = names.map((name) => [name, setting[name]]);
    return "#" + new URLSearchParams(parts).toString();
  }

  // What the address says; what it leaves out is as at the start, and what is no size is shown and complained about.
  function fromAddress() {
    const said = new URLSearchParams(location.hash.slice(1)), setting = { ...START };
    for (const name of [...SIZES, "width"]) if (said.has(name)) setting[name] = said.get(name);
    if (said.has("trigger_in_values")) setting.trigger_in_values = said.get("trigger_in_values") === "true";
    return setting;
  }

  // -- Results ---------------------------------------------------------------------------------------

  function python(setting) {
    const sizes = SIZES.map((name) => `${name}=${setting[name]}`).join(", ");
    const width = setting.width === null ? "" : `, width=${setting.width}`;
    const trigger = setting.trigger_in_values ? "True" : "False";
    return [
      "import recallbook as rb",
      "",
      `setting = rb.Setting(${sizes}${width},`,
      `                     trigger_in_values=${trigger})`,
      "found = rb.predict(setting)",
      "print(found.accuracy, found.lock_on, found.recall, rb.phase(setting))",
      "",
    ].join("\n");
  }

  // How far the page is from the package, as the export measured it.
  function exactness() {
    const { checks, width_checks, phase } = explorer.data.provenance;
    const off = (found) => [["accuracy", "accuracy"], ["lock-on", "lock_on"], ["recall", "recall"]]
      .map(([label, name]) => `${label} by at most ${found[name].largest} (in 99 of 100 by at most ${found[name].most})`)
      .join(", ");
    return `Without the MLP, at ${checks.settings} random settings off the grid, the page differs from rb.predict in ` +
      `${off(checks)}. With it, at ${width_checks.settings}: ${off(width_checks)}. Of ${phase.settings} random settings ` +
      `where removing one term gains at least ${phase.tolerance} more than removing any other, the page names the term of ` +
      `rb.phase in ${phase.same}.`;
  }

  function clear(words) {
    for (const name of ["accuracy", "lock_on", "recall", "phase"]) output(name).textContent = words;
  }

  function setWords(id, words) {
    const place = document.getElementById(id);
    if (place.textContent !== words) place.textContent = words;
    place.hidden = words === "";
  }

  function show(setting) {
    const beyond = explorer.beyond(setting);
    setWords("explorer-beyond", beyond);
    document.getElementById("explorer-charts").hidden = beyond !== "";
    if (beyond) {
      clear("outside");
      setWords("explorer-doubts", "");
      setWords("explorer-gain", "");
      return;
    }
    const found = explorer.predict(setting);
    const digits = setting.width === null ? 3 : 2; // no more than the table is good for
    for (const name of ["accuracy", "lock_on", "recall"]) output(name).textContent = found[name].toFixed(digits);
    output("phase").textContent = found.phase ?? "not tabulated";
    setWords("explorer-gain", found.phase ? gain(found) : coarse());
    setWords("explorer-doubts", explorer.doubts(setting, found.lock_on));
    drawSoon(setting);
  }

  function coarse() {
    const most = explorer.data.provenance.width_checks.accuracy.most;
    return `With an MLP the table is coarse: accuracy is within ${most} of rb.predict in 99 of 100 settings. What binds is ` +
      "tabulated without the MLP only.";
  }

  function gain(found) {
    if (!explorer.decides(found)) return "No term decides here: without it accuracy would hardly change.";
    return `Without it accuracy would be about ${found.without.toFixed(2)}.`;
  }

  // -- Events ----------------------------------------------------------------------------------------

  function update() {
    const setting = read(), copy = document.getElementById("explorer-copy");
    copy.disabled = !setting;
    if (!setting) {
      clear("none");
      setWords("explorer-beyond", "A field holds no size; see there.");
      setWords("explorer-doubts", "");
      setWords("explorer-gain", "");
      document.getElementById("explorer-charts").hidden = true;
      document.getElementById("explorer-code").textContent = "";
      return;
    }
    moveSliders(setting);
    document.getElementById("explorer-code").textContent = python(setting);
    const found = address(setting);
    if (location.hash !== found) history.replaceState(null, "", found);
    show(setting);
  }

  // Numbers follow at once; pictures once a frame, however fast the events come.
  let waiting = null;

  function drawSoon(setting) {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => explorer.draw(setting));
  }

  async function copy() {
    const code = document.getElementById("explorer-code"), status = document.getElementById("explorer-copied");
    let copied = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      // Pages from a disk may have no clipboard of their own: select the text and copy that.
      getSelection().selectAllChildren(code);
      copied = document.execCommand("copy");
    }
    status.textContent = copied ? "Copied." : "Select the code and copy it by hand.";
  }

  async function start() {
    await explorer.ready;
    setWords("explorer-exact", exactness());
    write(fromAddress());
    for (const name of [...SIZES, "width", "trigger_in_values"]) {
      for (const event of ["input", "change"]) input(name).addEventListener(event, update);
    }
    for (const name of SIZES) {
      slider(name).addEventListener("input", () => {
        slide(name);
        update();
      });
    }
    document.getElementById("explorer-copy").addEventListener("click", copy);
    addEventListener("hashchange", () => {
      if (!location.hash.includes("=")) return; // a heading of the page
      write(fromAddress());
      update();
    });
    addEventListener("resize", update);
    new MutationObserver(update).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    root.hidden = false;
    update();
    root.dataset.ready = "true";
  }

  start();
})((window.explorer = window.explorer || {}));
