// A noise has a region of the map, a bar and a formula: what a reader points at, or else what binds, is marked in all three.
(function (explorer) {
  "use strict";

  const { root } = explorer.fields, place = document.getElementById("explorer-formula");
  let pointed = null, binds = null;

  function mark() {
    const noise = pointed ?? binds, formula = explorer.data.mathml[noise];
    for (const one of root.querySelectorAll("[data-noise]")) one.classList.toggle("linked", one.dataset.noise === noise);
    place.innerHTML = formula ? `<b>${noise}</b> over squared signal: <math>${formula}</math>` : "";
  }

  const point = (event) => {
    const noise = event.target.closest?.("[data-noise]")?.dataset.noise ?? null;
    if (noise !== pointed) { pointed = noise; mark(); }
  };
  for (const event of ["pointerover", "focusin"]) root.addEventListener(event, point);

  // After the pictures are drawn. With the trigger in the values formulas are too long to read.
  explorer.linkNoises = function ({ setting }) {
    const found = explorer.predict(setting);
    binds = found.phase;
    place.hidden = setting.trigger_in_values || !found.phase;
    mark();
  };
})((window.explorer = window.explorer || {}));
