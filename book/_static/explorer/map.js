// The map of d and N: what keeps accuracy below 0.9, regions named, and the setting as a dot to drag.
(function (explorer) {
  "use strict";

  const { make, log, decades, short, path, label, frame, place } = explorer.svg;
  const CELLS = 44; // along each side
  const NAMES = {
    interference: ["the wall: facts drown", "wall"],
    "mean bias": ["the slope: mean bias", "slope"],
    "gradient noise": ["gradient noise", "slope"],
    coverage: ["the floor: facts not seen", "floor"],
    "label frequencies": ["label frequencies", "labels"],
    "label overlap": ["label overlap", "overlap"],
    "own fact": ["own fact", "own fact"],
    solved: ["solved: accuracy ≥ 0.9", "solved"],
    hopeless: ["hopeless: two things fail", "hopeless"],
    "not seen": ["facts not seen", "not seen"],
    "not located": ["attention misses", "missed"],
    drowned: ["facts drown", "drown"],
  };
  const kind = (region) => `explorer-region region-${region.replaceAll(" ", "-")}`;
  explorer.regionName = (region) => NAMES[region][0];

  let known = { key: null };

  function outline(cells, { x, y }) {
    return cells.map(({ dim1, dim2, samples1, samples2 }) => {
      const [left, right, top, bottom] = [x(dim1), x(dim2), y(samples2), y(samples1)].map((place) => place.toFixed(1));
      return `M${left} ${top}H${right}V${bottom}H${left}Z`;
    }).join("");
  }

  // The longest row of cells of a region that lie side by side, of several the middle one: its name goes there.
  function roomiest(cells) {
    const rows = Map.groupBy ? Map.groupBy(cells, (cell) => cell.samples1) : null;
    const grouped = rows ?? cells.reduce((all, cell) => all.set(cell.samples1, [...(all.get(cell.samples1) ?? []), cell]), new Map());
    const runs = [...grouped.values()].map((row) => longestRun(row.sort((a, b) => a.dim1 - b.dim1)));
    const most = Math.max(...runs.map((run) => run.length));
    const best = runs.filter((run) => run.length >= 0.9 * most);
    return best[Math.floor(best.length / 2)];
  }

  function longestRun(row) {
    let best = [], run = [];
    for (const cell of row) {
      run = run.length && Math.abs(run.at(-1).dim2 / cell.dim1 - 1) < 1e-9 ? [...run, cell] : [cell];
      if (run.length > best.length) best = run;
    }
    return best;
  }

  function name(region, cells, { x, y }) {
    const run = roomiest(cells), left = x(run[0].dim1), right = x(run.at(-1).dim2);
    const words = NAMES[region].find((text) => text.length * 6.8 < right - left);
    if (!words) return "";
    const middle = (y(run[0].samples1) + y(run[0].samples2)) / 2 + 4;
    return label(words, (left + right) / 2, middle, { "text-anchor": "middle", class: "explorer-name" });
  }

  function drawn(box, setting) {
    const cells = explorer.map(setting, CELLS);
    const found = frame(box, {
      height: 380,
      x: { scale: log, domain: explorer.range("dim"), ticks: (scale) => decades(scale, 7), name: "dimension d" },
      y: { scale: log, domain: explorer.range("samples", setting), ticks: (scale) => decades(scale, 7), name: "training sequences N" },
    });
    const regions = Object.keys(NAMES).filter((region) => cells.some((cell) => cell.region === region))
      .map((region) => [region, cells.filter((cell) => cell.region === region)]);
    for (const [region, own] of regions) found.plot.append(make("path", { d: outline(own, found), class: kind(region) }));
    const line = explorer.criticalByDim(setting, CELLS).map(({ dim, samples }) => [found.x(dim), found.y(samples)]);
    found.plot.append(make("path", { d: path(line), class: "explorer-level" }));
    for (const [region, own] of regions) found.plot.append(name(region, own, found));
    return { ...found, cells, regions, dot: dotOf(found) };
  }

  function dotOf({ picture }) {
    const dot = make("g", { class: "explorer-dot", tabindex: 0, role: "slider", "aria-label": "The setting on the map",
      "aria-valuemin": 0, "aria-valuemax": 1 });
    dot.append(make("circle", { r: 22, class: "explorer-touch" }), make("circle", { r: 7 }));
    picture.append(dot);
    return dot;
  }

  function said({ accuracy, lock_on, recall, region }, { dim, samples }) {
    return `d = ${short(dim)}, N = ${short(samples)}: accuracy ${accuracy.toFixed(2)}, lock-on ${lock_on.toFixed(2)}, ` +
      `recall ${recall.toFixed(2)}; ${NAMES[region][0]}`;
  }

  function readOut(setting, [dim, samples]) {
    const at = explorer.within({ ...setting, dim: Math.round(dim), samples: Math.round(samples) });
    document.getElementById("explorer-map-values").textContent = said(explorer.predict(at), at);
  }

  // Pointer and keys: what is under the pointer is read out; a press moves the dot there; arrows move d and N.
  function listen(map, state) {
    const { picture, dot, x, y } = map;
    const at = (event) => {
      const [across, up] = place(picture, event);
      return [x.back(across), y.back(up)];
    };
    const move = (event) => {
      const [dim, samples] = at(event);
      state.move(explorer.within({ ...state.setting, dim: Math.round(dim), samples: Math.round(samples) }));
    };
    let dragging = false;
    picture.addEventListener("pointerdown", (event) => {
      dragging = dot.contains(event.target);
      if (dragging) picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener("pointermove", (event) => (dragging ? move(event) : readOut(state.setting, at(event))));
    picture.addEventListener("pointerup", () => { dragging = false; });
    picture.addEventListener("pointercancel", () => { dragging = false; });
    picture.addEventListener("click", move);
    picture.addEventListener("pointerleave", () => readOut(state.setting, [state.setting.dim, state.setting.samples]));
    dot.addEventListener("keydown", (event) => {
      const [size, sign] = { ArrowRight: ["dim", 1], ArrowLeft: ["dim", -1], ArrowUp: ["samples", 1], ArrowDown: ["samples", -1] }[event.key] ?? [];
      if (!size) return;
      event.preventDefault();
      const value = state.setting[size], step = Math.max(1, Math.round(value * 0.05));
      state.move(explorer.within({ ...state.setting, [size]: value + sign * step }));
    });
  }

  // The map is drawn anew where it changes; the dot moves alone.
  explorer.drawMap = function (state) {
    const { setting } = state, box = document.getElementById("explorer-map");
    const key = JSON.stringify({ ...setting, dim: 0, samples: 0, wide: box.clientWidth });
    if (known.key !== key) {
      known = { ...drawn(box, setting), key };
      known.picture.setAttribute("role", "group");
      known.picture.setAttribute("aria-labelledby", "explorer-map-title");
      const held = box.contains(document.activeElement);
      box.replaceChildren(known.picture);
      listen(known, state);
      if (held) known.dot.focus();
      document.getElementById("explorer-map-words").textContent = words(known);
    }
    const found = explorer.predict(setting), { dot, x, y } = known;
    dot.setAttribute("transform", `translate(${x(setting.dim).toFixed(1)} ${y(setting.samples).toFixed(1)})`);
    dot.setAttribute("aria-valuenow", found.accuracy.toFixed(3));
    dot.setAttribute("aria-valuetext", said(found, setting));
    document.getElementById("explorer-map-values").textContent = said(found, setting);
  };

  function words({ cells, regions }) {
    const shares = regions.map(([region, own]) => `${NAMES[region][0]} on ${Math.round(100 * own.length / cells.length)} %`);
    return `Regions of the map of d and N, by share: ${shares.join("; ")}.`;
  }
})((window.explorer = window.explorer || {}));
