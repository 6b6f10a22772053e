// Accuracy, lock-on and recall against N, with what is proved necessary and what theory asks for.
(function (explorer) {
  "use strict";

  const { make, linear, log, decades, short, path, label, frame, place } = explorer.svg;
  const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, End: Infinity, Home: -Infinity };
  const WIDE = 70; // pixels: the room of a name
  const LINES = [["accuracy", "accuracy"], ["lock_on", "lock-on"], ["recall", "recall"]];

  function said(found, samples) {
    const { accuracy, lock_on, recall } = explorer.shares(found);
    return `N = ${short(samples)}: accuracy ${accuracy}, lock-on ${lock_on}, recall ${recall}`;
  }

  function drawMarks(marks, { plot, x, y }) {
    const drawn = marks.filter(({ samples }) => samples >= x.low && samples <= x.high).sort((a, b) => b.samples - a.samples);
    drawn.forEach(({ name, samples }, i) => { // the higher names to the left, so that no line runs through one
      const height = y(1) - 14 * i - 6;
      plot.append(make("line", { x1: x(samples), x2: x(samples), y1: height, y2: y(0), class: "explorer-mark" }),
        label(name, Math.min(x(samples) + 4, x(x.high) + 20 - WIDE), height - (x(samples) > x(x.high) - WIDE ? 4 : 0)));
    });
  }

  function drawLines(curve, { plot, x, y, left }) {
    LINES.forEach(([name, words], i) => {
      const start = left + 96 * i;
      plot.append(make("path", { d: path(curve.map((at) => [x(at.samples), y(at[name])])), class: `explorer-line ${name}` }),
        make("path", { d: `M${start} 10h26`, class: `explorer-line ${name}` }), label(words, start + 32, 14));
    });
  }

  function listen({ picture, x }, state) {
    const at = (event) => explorer.within({ ...state.setting, samples: Math.round(x.back(place(picture, event)[0])) });
    picture.addEventListener("click", (event) => state.move(at(event)));
    document.getElementById("explorer-curve-values").textContent = said(explorer.predict(state.setting), state.setting.samples);
  }

  // Keys on the chart move N.
  explorer.listenToCurve = function (state) {
    document.getElementById("explorer-curve").addEventListener("keydown", (event) => {
      const by = KEYS[event.key];
      if (!by) return;
      event.preventDefault();
      state.move(explorer.stepped(state.setting, "samples", by));
    });
  };

  explorer.drawCurve = function (state) {
    const { setting } = state, box = document.getElementById("explorer-curve");
    const curve = explorer.curve(setting), marks = explorer.marks(setting);
    const found = frame(box, {
      height: 310, left: 36, top: 76,
      x: { scale: log, domain: explorer.range("samples", setting), ticks: (scale) => decades(scale, 7), name: "training sequences N" },
      y: { scale: linear, domain: [0, 1], ticks: () => [0, 0.25, 0.5, 0.75, 1] },
    });
    const { picture, plot, x, y } = found;
    plot.append(make("line", { x1: x(setting.samples), x2: x(setting.samples), y1: y(1), y2: y(0), class: "explorer-here" }));
    drawMarks(marks, found);
    drawLines(curve, found);
    const here = explorer.predict(setting), [first, last] = [curve[0], curve[curve.length - 1]];
    const words = `Against N from ${short(first.samples)} to ${short(last.samples)}: accuracy is ${first.accuracy.toFixed(2)} at the left, ` +
      `${here.accuracy.toFixed(2)} at the chosen N, and ${last.accuracy.toFixed(2)} at the right; lock-on ends at ` +
      `${last.lock_on.toFixed(2)}, recall at ${last.recall.toFixed(2)}.`;
    box.setAttribute("aria-valuenow", setting.samples);
    box.setAttribute("aria-valuetext", said(here, setting.samples));
    document.getElementById("explorer-curve-words").textContent = words;
    box.replaceChildren(picture);
    listen(found, state);
    listMarks(marks);
  };

  function listMarks(marks) {
    const items = marks.map(({ name, samples, words }) =>
      (Number.isFinite(samples) ? `${name}: N = ${short(Math.ceil(samples))}${words ? ` (${words})` : ""}` : `${name}: ${words}`));
    document.getElementById("explorer-marks").replaceChildren(
      ...items.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  }
})((window.explorer = window.explorer || {}));
