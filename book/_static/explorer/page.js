// The state of the page, a setting: its fields and sliders, its address, and the settings to start from.
(function (explorer) {
  "use strict";

  const LARGEST = 2 ** 31 - 1;  // as rb.Setting
  const START = { vocab: 256, seq_len: 128, dim: 96, samples: 2048, trigger_in_values: false, width: null, activation: "", learner: "three steps" };
  const STEPS = 1000; // of a slider, in the logarithm
  const NEURONS = 4; // for each dimension, where an activation is chosen and no width
  const { SIZES } = explorer;
  const NUMBERS = [...SIZES, "width"], CHOICES = ["activation", "learner"];
  explorer.START = START;

  const root = document.getElementById("explorer-page");
  const field = (name) => root.querySelector(`[name="${name}"]:not(output)`);
  const slider = (name) => root.querySelector(`input[data-size="${name}"]`);

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
    const { value, validity } = field(name);
    // A browser hands over "" for text that is no number; an empty width is no MLP.
    if (name === "width" && value.trim() === "" && !validity.badInput) return { value: null };
    const found = size(value, name === "vocab" ? 2 : 1);
    if (name === "width" && found.problem) return { problem: "Give a whole number of at least 1, or leave it empty." };
    return found;
  }

  function say(name, problem = "") {
    const place = document.getElementById(`explorer-${name}-problem`);
    if (place.textContent !== problem) place.textContent = problem;
    if (problem) field(name).setAttribute("aria-invalid", "true");
    else field(name).removeAttribute("aria-invalid");
  }

  // The setting that the fields give; null where one of them holds none.
  function read() {
    const setting = { trigger_in_values: field("trigger_in_values").checked };
    for (const name of CHOICES) setting[name] = field(name).value;
    let complete = true;
    for (const name of NUMBERS) {
      const { value, problem } = readField(name);
      say(name, problem);
      if (problem) complete = false;
      else setting[name] = value;
    }
    return complete ? setting : null;
  }

  function write(setting) {
    for (const name of NUMBERS) {
      const value = setting[name] ?? "";
      field(name).value = Number.isFinite(Number(value)) ? value : ""; // a field for numbers takes nothing else
    }
    field("trigger_in_values").checked = setting.trigger_in_values;
    for (const name of CHOICES) field(name).value = setting[name];
  }

  // An MLP has both a width and an activation; whoever gives one of them gets a usual other.
  function completeMlp(name) {
    const width = field("width"), activation = field("activation");
    if (name === "activation") {
      if (!activation.value) width.value = "";
      else if (width.value === "") width.value = NEURONS * Number(field("dim").value) || "";
    } else if (name === "width" && !width.validity.badInput) {
      if (width.value === "") activation.value = "";
      else if (!activation.value) activation.value = "relu";
    }
  }

  // -- Sliders ---------------------------------------------------------------------------------------

  // Sliders follow the fields, in the logarithm.
  function moveSliders(setting) {
    for (const name of SIZES) {
      const [low, high] = explorer.range(name, setting), bar = slider(name);
      const share = Math.log(setting[name] / low) / Math.log(high / low);
      bar.value = Math.round(STEPS * Math.min(1, Math.max(0, share)));
      bar.dataset.stood = bar.value;
      bar.setAttribute("aria-valuetext", String(setting[name]));
    }
  }

  // A slider that has moved moves its size, by one at least. Where V moves, N stays inside the table.
  function slide(name) {
    const known = { ...START, ...read() }, bar = slider(name), [low, high] = explorer.range(name, known);
    const moved = Math.sign(bar.value - bar.dataset.stood), before = known[name];
    let value = Math.round(low * (high / low) ** (bar.value / STEPS));
    if (moved * (value - before) <= 0) value = before + moved;
    write(explorer.within({ ...known, [name]: value }));
  }

  // -- Address ---------------------------------------------------------------------------------------

  function address(setting) {
    const names = [...SIZES, "trigger_in_values", "width", ...CHOICES].filter((name) => name === "trigger_in_values" ||
      (setting[name] && setting[name] !== START.learner));
    return "#" + new URLSearchParams(names.map((name) => [name, setting[name]])).toString();
  }

  // What the address says, behind ? or #; what it leaves out is as at the start, and what is no size is complained about.
  function fromAddress() {
    const said = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : location.search);
    const setting = { ...START };
    for (const name of NUMBERS) if (said.has(name)) setting[name] = said.get(name);
    if (said.has("trigger_in_values")) setting.trigger_in_values = /^(true|1)$/i.test(said.get("trigger_in_values"));
    for (const name of CHOICES) {
      if ([...field(name).options].some(({ value }) => value === said.get(name))) setting[name] = said.get(name);
    }
    if (!setting.activation && setting.width) setting.activation = "relu";
    if (setting.activation && !setting.width) setting.width = NEURONS * setting.dim;
    return setting;
  }

  // -- Settings to start from ------------------------------------------------------------------------

  explorer.PRESETS = {
    start: START,
    "wall, slope, floor": { ...START, vocab: 1024, seq_len: 256, dim: 192, samples: 4096 },
    "a shelf": { ...START, vocab: 4096, seq_len: 16, dim: 512, samples: 6144 },
    "trigger in the values": { ...START, trigger_in_values: true, samples: 8192 },
    "he3 neurons": { ...START, width: 384, activation: "he3" },
    "as small as chapter 12": { ...START, vocab: 64, seq_len: 8, dim: 32, samples: 256 },
    "trained to the end": { ...START, learner: "trained" },
  };

  explorer.fields = { root, field, slider, read, write, completeMlp, moveSliders, slide, address, fromAddress, NUMBERS, CHOICES };
})((window.explorer = window.explorer || {}));
