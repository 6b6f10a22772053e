// What happens when a reader moves something. Settings come from page.js, numbers from model.js.
(function (explorer) {
  "use strict";

  const { fields, SIZES } = explorer, { root } = fields;
  const output = (name) => root.querySelector(`output[name="${name}"]`);
  const state = { setting: null, move };

  // -- Results ---------------------------------------------------------------------------------------

  function python(setting) {
    const sizes = SIZES.map((name) => `${name}=${setting[name]}`).join(", ");
    const mlp = setting.width === null ? "" : ` width=${setting.width}, activation="${setting.activation}",`;
    return [
      "import recallbook as rb",
      "",
      `setting = rb.Setting(${sizes},`,
      `                    ${mlp} trigger_in_values=${setting.trigger_in_values ? "True" : "False"})`,
      ...(setting.learner === "trained"
        ? ["found = rb.predict_trained(setting)", "print(found.accuracy, found.lock_on, found.recall)"]
        : ["found = rb.predict(setting)", "print(found.accuracy, found.lock_on, found.recall, rb.phase(setting))"]),
      "",
    ].join("\n");
  }

  function clear(words) {
    for (const name of ["accuracy", "lock_on", "recall", "phase"]) output(name).textContent = words;
    for (const id of ["doubts", "gain", "task"]) setWords(`explorer-${id}`, "");
    document.getElementById("explorer-charts").hidden = !state.drawn; // the last picture stays while a number is typed
    root.dataset.empty = "true";
    root.dataset.done = "false";
  }

  function setWords(id, words) {
    const place = document.getElementById(id);
    if (place.textContent !== words) place.textContent = words;
    place.hidden = words === "";
  }

  function binding({ phase, region, ...found }, { learner }) {
    if (learner === "trained") return ["not tabulated", "The trigger in the values makes no difference here."];
    if (phase === null) return ["not tabulated", ""];
    if (explorer.decides(found)) return [phase, `Without ${phase} accuracy would rise most.`];
    if (region === "solved") return ["nothing binds", "Accuracy is as high as it can be: removing any one noise would hardly raise it."];
    return ["nothing alone", "Two things fail at once: removing any one noise would hardly help."];
  }

  function show(setting) {
    const beyond = explorer.beyond(setting);
    setWords("explorer-beyond", beyond);
    if (beyond) return clear("outside");
    document.getElementById("explorer-charts").hidden = false;
    delete root.dataset.empty;
    const found = explorer.predict(setting);
    for (const [name, words] of Object.entries(explorer.shares(found))) output(name).textContent = words;
    const [name, words] = binding(found, setting);
    output("phase").textContent = name;
    setWords("explorer-gain", words);
    const task = explorer.taskOf(setting, found);
    setWords("explorer-task", task.words);
    root.dataset.done = Boolean(task.done);
    setWords("explorer-doubts", explorer.doubts(setting, found));
    document.getElementById("explorer-trained").hidden = setting.learner !== "trained";
    const steps = setting.learner !== "trained" && setting.width === null;
    document.getElementById("explorer-steps").hidden = !steps;
    root.querySelector(".explorer-pieces").hidden = !steps;
    setWords("explorer-no-steps", steps ? "" : "What binds and one question are computed for three steps without an MLP only.");
    drawSoon();
    return found;
  }

  // Numbers follow at once; pictures once a frame, however fast the events come.
  let waiting = null;

  function drawSoon() {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(draw);
  }

  function draw() {
    for (const chart of [explorer.drawMap, explorer.drawCurve, explorer.drawCloud]) chart(state);
    state.drawn = true;
  }

  // -- Events ----------------------------------------------------------------------------------------

  function update() {
    const setting = fields.read();
    fields.enable();
    document.getElementById("explorer-copy").disabled = !setting;
    if (!setting) {
      clear("none");
      setWords("explorer-beyond", "A field holds no size; see there.");
      document.getElementById("explorer-code").textContent = "";
      return;
    }
    state.setting = setting;
    fields.moveSliders(setting);
    document.getElementById("explorer-code").textContent = python(setting);
    record(fields.address(setting));
    show(setting);
  }

  // What follows a pause is a step that Undo, or Back, takes back.
  const PAUSE = 600; // milliseconds
  let last = 0;

  function record(address) {
    const step = Number(Boolean(state.drawn) && performance.now() - last > PAUSE), depth = history.state?.depth ?? 0;
    if (location.hash !== address || location.search) {
      history[step ? "pushState" : "replaceState"]({ depth: depth + step }, "", location.pathname + address);
      last = performance.now();
    }
    document.getElementById("explorer-undo").disabled = !history.state?.depth;
  }

  function move(setting) {
    fields.write(setting);
    update();
  }

  async function copy() {
    const place = document.getElementById("explorer-code"), status = document.getElementById("explorer-copied");
    place.closest("details").open = true;
    let copied = true;
    try {
      await navigator.clipboard.writeText(place.textContent);
    } catch {
      // Pages from a disk may have no clipboard of their own: select the text and copy that.
      getSelection().selectAllChildren(place);
      copied = document.execCommand("copy");
    }
    status.textContent = copied ? "Copied." : "Select the text and copy it by hand.";
  }

  function listen() {
    for (const name of [...fields.NUMBERS, ...fields.CHOICES, "trigger_in_values"]) {
      for (const event of ["input", "change"]) {
        fields.field(name).addEventListener(event, () => {
          fields.completeMlp(name, event === "change");
          update();
        });
      }
    }
    for (const name of SIZES) {
      fields.slider(name).addEventListener("input", () => {
        fields.slide(name);
        update();
      });
    }
    const press = (id, act) => document.getElementById(id).addEventListener("click", act);
    press("explorer-copy", copy);
    press("explorer-reset", () => move(explorer.START));
    press("explorer-undo", () => history.back());
    explorer.listenToCurve(state);
    addEventListener("hashchange", () => {
      if (location.hash.includes("=")) move(fields.fromAddress()); // else a heading of the page
    });
    let wide = innerWidth; // on a phone scrolling changes the height
    addEventListener("resize", () => {
      if (innerWidth !== wide) update();
      wide = innerWidth;
    });
  }

  async function start() {
    await explorer.ready;
    fields.write(fields.fromAddress());
    listen();
    root.hidden = false;
    update();
    root.dataset.ready = "true";
  }

  start();
})((window.explorer = window.explorer || {}));
