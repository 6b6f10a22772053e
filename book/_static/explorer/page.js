// The state of the page, a setting: its fields and sliders, its address.
(function (explorer) {
  "use strict";

  const LARGEST = 2 ** 31 - 1;  // as rb.Setting
  const START = { vocab: 256, seq_len: 128, dim: 96, samples: 2048, trigger_in_values: false, width: null, activation: "", learner: "three steps" };
  const STEPS = 1000; // of a slider, in the logarithm
  const NEAR = 4; // steps of a slider, about a pixel
  const SMALL = 20; // where a step of 5 % is about one
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
    if (name === "width" && !field("activation").value) return { value: null };
    return size(field(name).value, name === "vocab" ? 2 : 1);
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

  // Whoever chooses an activation gets a usual width, and whoever leaves the width empty no MLP.
  function completeMlp(name, left) {
    const width = field("width"), activation = field("activation");
    if (name === "activation") {
      if (!activation.value) width.value = "";
      else if (width.value === "") width.value = NEURONS * Number(field("dim").value) || "";
    } else if (name === "width" && left && width.value === "" && !width.validity.badInput) {
      activation.value = "";
    }
  }

  // What makes no difference cannot be chosen.
  function enable() {
    const trained = field("learner").value === "trained", mlp = field("activation").value !== "";
    field("width").disabled = !mlp;
    field("activation").disabled = trained && !mlp;
    field("trigger_in_values").disabled = trained;
    field("learner").querySelector("[value=trained]").disabled = mlp;
  }

  // -- Sliders ---------------------------------------------------------------------------------------

  function stand(name, setting) {
    const [low, high] = explorer.range(name, setting), share = Math.log(setting[name] / low) / Math.log(high / low);
    return Math.round(STEPS * Math.min(1, Math.max(0, share)));
  }

  const slid = {}, left = {}; // what each slider gave last, and the value that it then moved away from

  // Sliders follow the fields, in the logarithm.
  function moveSliders(setting) {
    for (const name of SIZES) {
      const bar = slider(name);
      bar.value = stand(name, setting);
      bar.dataset.stood = bar.value;
      bar.setAttribute("aria-valuetext", String(setting[name]));
      if (setting[name] !== slid[name]) left[name] = setting[name];
    }
  }

  // A slider that has moved moves its size, by one at least. On its way back it stops at the value of the task, and at the
  // one that it came from. Where V moves, N stays inside the table.
  function slide(name) {
    const known = { ...START, ...read() }, bar = slider(name), [low, high] = explorer.range(name, known);
    const moved = Math.sign(bar.value - bar.dataset.stood), before = known[name];
    let value = Math.round(low * (high / low) ** (bar.value / STEPS));
    if (moved * (value - before) <= 0) value = before + moved;
    const far = Math.abs(bar.value - bar.dataset.stood);
    for (const [stop, near] of [[left[name], 0], [START[name], Math.min(NEAR, far - 1)]]) {
      const away = Math.abs(bar.value - stand(name, { ...known, [name]: stop }));
      if (away <= near && moved * (stop - before) > 0) value = stop;
    }
    const found = explorer.within({ ...known, [name]: value });
    slid[name] = found[name];
    write(found);
  }

  // Keys walk in steps of 5 %, and back to the very value that they came from.
  let walk = {};

  explorer.stepped = function (setting, name, by) {
    if (walk.name !== name || walk.now !== setting[name]) walk = { name, from: setting[name], count: 0 };
    walk.count += by;
    const value = Math.round((walk.from + SMALL) * 1.05 ** walk.count - SMALL); // infinitely many lead to the end
    const found = explorer.within({ ...setting, [name]: value });
    if (found[name] !== value) walk = { name, from: found[name], count: 0 };
    walk.now = found[name];
    return found;
  };

  // -- Address ---------------------------------------------------------------------------------------

  function address(setting) {
    const names = [...SIZES, "trigger_in_values", "width", ...CHOICES].filter((name) => name === "trigger_in_values" ||
      SIZES.includes(name) || (setting[name] && setting[name] !== START[name]));
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

  explorer.fields = { enable, root, field, slider, read, write, completeMlp, moveSliders, slide, address, fromAddress, NUMBERS, CHOICES };
})((window.explorer = window.explorer || {}));
