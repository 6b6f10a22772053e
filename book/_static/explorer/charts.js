// The three pictures, each with its words. Observable Plot draws; lines and text take the colours of the page.
(function (explorer) {
  "use strict";

  const LINES = [
    { name: "accuracy", label: "accuracy", stroke: "#009e73", dash: null },
    { name: "lock_on", label: "lock-on", stroke: "#2b83c6", dash: "7,4" },
    { name: "recall", label: "recall", stroke: "#d55e00", dash: "2,3" },
  ];
  const STAGES = { "lock-on": "#2b83c6", recall: "#d55e00", coverage: "#999999" };
  // Colours of Paul Tol's muted and light schemes, so that neighbours differ also to colour-blind readers.
  const TERMS = {
    "mean bias": "#cc6677",
    "frequency noise": "#88ccee",
    "gradient noise": "#332288",
    "trigger overlap": "#ddcc77",
    "fact interference": "#882255",
    "uneven facts": "#aa4499",
    "bias noise": "#ee8866",
    "unequal lengths": "#bbcc33",
    "label frequencies": "#999933",
    interference: "#117733",
    "label overlap": "#77aadd",
    "own fact": "#44aa99",
    coverage: "#e69f00",
    [explorer.NOTHING]: "#cccccc",
  };
  const CELLS = 32; // of the map, along each side
  const FLOOR = 1e-6; // where bars begin

  const style = { fontSize: "12px", background: "transparent", overflow: "visible" };
  const short = d3.format(".3~s");
  const number = (value) => (value === 0 ? "0" : value >= 1e-3 && value < 1e3 ? d3.format(".3~g")(value) : d3.format(".1e")(value));

  function place(id, picture, words) {
    const box = document.getElementById(id);
    box.replaceChildren(picture);
    // A figure holds its legend first; a legend's swatches are pictures too, which say nothing.
    const drawn = picture.matches("svg") ? picture : [...picture.querySelectorAll(":scope > svg")].at(-1);
    for (const swatch of picture.querySelectorAll("div svg")) swatch.setAttribute("aria-hidden", "true");
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", words);
    document.getElementById(`${id}-words`).textContent = words;
  }

  function width(id) {
    return Math.max(260, Math.min(760, document.getElementById(id).clientWidth || 640));
  }

  // -- Ledger ----------------------------------------------------------------------------------------

  function drawLedger(setting) {
    const terms = explorer.ledgerOf(setting);
    const high = Math.max(1, d3.max(terms, (term) => term.size));
    const every = width("explorer-ledger") < 450 ? 2 : 1;
    const decades = d3.range(Math.log10(FLOOR), Math.log10(high) + 1e-9, every).map((power) => 10 ** power);
    const shown = terms.map((term) => ({ ...term, end: Math.max(term.size, FLOOR * 1.15) }));
    const picture = Plot.plot({
      style, width: width("explorer-ledger"), height: 24 * terms.length + 70, marginLeft: 120, marginRight: 55, marginBottom: 44,
      x: { type: "log", domain: [FLOOR, high], label: "size, in units of the squared signal", ticks: decades, tickFormat: "~e", grid: true },
      y: { domain: terms.map((term) => term.name), label: null },
      color: { domain: Object.keys(STAGES), range: Object.values(STAGES), legend: true },
      marks: [
        Plot.barX(shown, { x1: FLOOR, x2: "end", y: "name", fill: "stage" }),
        Plot.text(shown, { x: "end", y: "name", text: (term) => number(term.size), textAnchor: "start", dx: 4 }),
      ],
    });
    const words = terms.map((term) => `${term.name} ${number(term.size)}`).join(", ");
    place("explorer-ledger", picture, `Sizes of the ledger's terms: ${words}.`);
  }

  // -- Curve -----------------------------------------------------------------------------------------

  function drawCurve(setting, marks) {
    const curve = explorer.curve(setting);
    const rows = curve.flatMap((point) => LINES.map(({ name, label }) => ({ samples: point.samples, label, value: point[name] })));
    const known = marks.filter(({ samples }) => samples >= curve[0].samples && samples <= curve.at(-1).samples);
    const picture = Plot.plot({
      style, width: width("explorer-curve"), height: 320, marginLeft: 40, marginTop: 62, marginRight: 20, marginBottom: 44,
      x: { type: "log", label: "training sequences N", tickFormat: "~s", ticks: 5 },
      y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
      color: { domain: LINES.map(({ label }) => label), range: LINES.map(({ stroke }) => stroke), legend: true },
      marks: [
        Plot.ruleX([setting.samples], { stroke: "currentColor", strokeOpacity: 0.35, strokeWidth: 5 }),
        Plot.ruleX(known, { x: "samples", stroke: "currentColor", strokeDasharray: "4,3" }),
        // one below the other, because the marks may be close
        ...known.map((mark, i) => Plot.text([mark], { x: "samples", text: "name", frameAnchor: "top", dy: -14 * (i + 1), fill: "currentColor" })),
        ...LINES.map(({ label, stroke, dash }) =>
          Plot.line(rows.filter((row) => row.label === label), { x: "samples", y: "value", stroke, strokeWidth: 2.2, strokeDasharray: dash }),
        ),
      ],
    });
    const at = d3.bisector((point) => point.samples).left(curve, setting.samples);
    const last = curve.at(-1), here = curve[Math.min(at, curve.length - 1)];
    place("explorer-curve", picture,
      `Against N from ${short(curve[0].samples)} to ${short(last.samples)}: accuracy is ${curve[0].accuracy.toFixed(2)} at the ` +
      `left, about ${here.accuracy.toFixed(2)} at the chosen N, and ${last.accuracy.toFixed(2)} at the right; lock-on ends at ` +
      `${last.lock_on.toFixed(2)}, recall at ${last.recall.toFixed(2)}.`);
  }

  // -- Map -------------------------------------------------------------------------------------------

  function drawMap(setting) {
    const cells = explorer.map(setting, CELLS), tabulated = setting.width === null;
    const line = explorer.criticalByDim(setting, CELLS);
    const present = Object.keys(TERMS).filter((name) => cells.some((cell) => cell.phase === name));
    const color = tabulated
      ? { domain: present, range: present.map((name) => TERMS[name]), legend: true }
      : { type: "linear", scheme: "viridis", domain: [0, 1], label: "accuracy", legend: true };
    const picture = Plot.plot({
      style, width: width("explorer-map"), height: 340, marginLeft: 50, marginRight: 24, marginBottom: 44,
      x: { type: "log", label: "dimension d", tickFormat: "d", ticks: [16, 32, 64, 128, 256, 512, 1024] },
      y: { type: "log", label: "training sequences N", tickFormat: "~s", ticks: 6 },
      color,
      marks: [
        Plot.rect(cells, {
          x1: "dim1", x2: "dim2", y1: "samples1", y2: "samples2", shapeRendering: "crispEdges",
          fill: tabulated ? "phase" : "accuracy",
          fillOpacity: tabulated ? (cell) => 1 - 0.75 * cell.accuracy : 1,
        }),
        Plot.line(line, { x: "dim", y: "samples", stroke: "currentColor", strokeWidth: 2.5 }),
        Plot.dot([setting], { x: "dim", y: "samples", r: 6, stroke: "currentColor", fill: "white", strokeWidth: 3 }),
      ],
    });
    const counts = d3.rollups(cells, (group) => group.length / cells.length, (cell) => cell.phase)
      .sort((a, b) => b[1] - a[1]).map(([name, share]) => `${name} in ${d3.format(".0%")(share)}`);
    const bent = line.length
      ? `Accuracy 0.9 is reached at d from ${short(Math.min(...line.map((p) => p.dim)))} on.`
      : "Accuracy 0.9 is reached nowhere on the map.";
    place("explorer-map", picture, tabulated
      ? `Which term binds, by share of the map of d and N: ${counts.join(", ")}. ${bent}`
      : `Accuracy over d and N at this width. ${bent}`);
  }

  // -- All -------------------------------------------------------------------------------------------

  function describe({ name, samples, words }) {
    return Number.isFinite(samples) ? `${name}: N = ${short(Math.ceil(samples))}${words ? ` (${words})` : ""}` : `${name}: ${words}`;
  }

  explorer.draw = function (setting) {
    const marks = explorer.marks(setting);
    const list = document.getElementById("explorer-marks");
    list.replaceChildren(...marks.map((mark) => Object.assign(document.createElement("li"), { textContent: describe(mark) })));
    drawLedger(setting);
    drawCurve(setting, marks);
    drawMap(setting);
  };
})((window.explorer = window.explorer || {}));
