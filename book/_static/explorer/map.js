// The map of d and N: what keeps accuracy below 0.9, regions and pieces of the line named, and the setting as a dot to drag.
(function (explorer) {
  "use strict";

  const { make, log, decades, short, path, label, frame, place } = explorer.svg;
  const CELLS = 44; // along each side
  const SNAP = 6; // pixels: so near to its start a size returns to it
  const STILL = 3; // pixels: a press that moves less is no drag
  // Regions by the noise that costs most accuracy, or, where that is not tabulated, by the fate of most facts that are lost.
  const REGIONS = {
    interference: "facts drown in all the others", "mean bias": "frequent labels mislead attention",
    "gradient noise": "chance resemblance misleads attention", coverage: "facts are seen too rarely",
    "label frequencies": "frequent labels drown facts", "label overlap": "labels that resemble the right one drown it",
    "own fact": "a wrong label's own fact drowns the right one", "nothing alone": "two noises at once, and it takes much more of d, N or both",
    "not seen": "no sequence showed them", "not located": "attention misses them", drowned: "a wrong logit is larger",
    solved: "accuracy is 0.9 or more",
  };
  const DOT = 10; // pixels: half of what the dot covers
  const BOLD = 7.2, HALF = 9; // pixels: of a letter of a name its width, of a name half of its height
  const kind = (region) => `region-${region.replaceAll(" ", "-")}`;

  const KEYS = {
    ArrowRight: ["dim", 1], ArrowLeft: ["dim", -1], End: ["dim", Infinity], Home: ["dim", -Infinity],
    ArrowUp: ["samples", 1], ArrowDown: ["samples", -1], PageUp: ["samples", 10], PageDown: ["samples", -10],
  };

  let known = { key: null };

  function outline(cells, { x, y }) {
    return cells.map(({ dim1, dim2, samples1, samples2 }) => {
      const [left, right, top, bottom] = [x(dim1), x(dim2), y(samples2), y(samples1)].map((place) => place.toFixed(1));
      return `M${left} ${top}H${right}V${bottom}H${left}Z`;
    }).join("");
  }

  const touch = (one, two) => one.left < two.right && two.left < one.right && one.top < two.bottom && two.top < one.bottom;

  // A name with the room that it takes.
  function named(words, left, y) {
    return { text: label(words, left, y, { class: "explorer-name" }), left, right: left + BOLD * words.length, top: y - HALF - 4, bottom: y + HALF - 4 };
  }

  // The pieces of the line: each name stands above the middle of its piece, and above other names.
  function lineNames(line, { x, y, width, right }) {
    const names = [];
    for (const piece of ["wall", "floor", "slope", "shoulder"]) {
      const own = line.filter((at) => at.piece === piece), at = own[piece === "wall" ? 0 : Math.floor(own.length / 2)];
      if (!at) continue;
      const wide = BOLD * piece.length, left = Math.min(x(at.dim) + 6, width - right - wide);
      const below = line.filter(({ dim }) => x(dim) > left - 12 && x(dim) < left + wide + 12).map(({ samples }) => y(samples));
      let name = piece === "wall" ? named(piece, x(at.dim) + 8, y(at.samples) + 40) : named(piece, left, Math.min(...below) - 8);
      while (names.some((other) => touch(name, other))) name = named(piece, name.left, name.bottom - 3 * HALF);
      names.push(name);
    }
    return names;
  }

  function drawn(box, setting) {
    const cells = explorer.map(setting, CELLS);
    const found = frame(box, {
      height: 380,
      x: { scale: log, domain: explorer.range("dim"), ticks: (scale) => decades(scale, 7), name: "dimension d" },
      y: { scale: log, domain: explorer.range("samples", setting), ticks: (scale) => decades(scale, 7), name: "training sequences N" },
    });
    const regions = Object.keys(REGIONS).filter((region) => cells.some((cell) => cell.region === region))
      .map((region) => [region, cells.filter((cell) => cell.region === region)]);
    for (const [region, own] of regions) found.plot.append(make("path", { d: outline(own, found), class: `explorer-region ${kind(region)}` }));
    const line = explorer.level(setting, CELLS);
    found.plot.append(make("path", { d: path(line.map(({ dim, samples }) => [found.x(dim), found.y(samples)])), class: "explorer-level" }));
    const names = lineNames(line, found);
    found.plot.append(...names.map(({ text }) => text));
    return { ...found, cells, regions, names, dot: dotOf(found) };
  }

  // The same names below the map, in more words; where the table has no prediction the map has no colour.
  function legend({ cells, regions }) {
    const item = (region, words) => {
      const swatch = Object.assign(document.createElement("i"), { className: `explorer-swatch ${kind(region)}` });
      const found = document.createElement("li");
      found.append(swatch, ` ${region}: ${words}`);
      return found;
    };
    const blank = cells.length < CELLS ** 2 ? [item("no colour", "outside the table, because m does not go with that d")] : [];
    document.getElementById("explorer-map-legend").replaceChildren(...regions.map(([region]) => item(region, REGIONS[region])), ...blank);
  }

  function dotOf({ picture }) {
    const dot = make("g", { class: "explorer-dot", tabindex: 0, role: "slider", "aria-label": "The setting on the map: left and right move d, up and down N",
      "aria-valuemin": 0, "aria-valuemax": 1 });
    dot.append(make("circle", { r: 22, class: "explorer-touch" }), make("circle", { r: 7 }));
    picture.append(dot);
    return dot;
  }

  function said(found, { dim, samples }) {
    const { accuracy, lock_on, recall } = explorer.shares(found), { region, phase } = found;
    const what = phase === null && region !== "solved" ? `most lost facts are ${region}` : region;
    return `d = ${short(dim)}, N = ${short(samples)}: accuracy ${accuracy}, lock-on ${lock_on}, recall ${recall}; ${what}`;
  }

  function readOut(setting, [dim, samples]) {
    const at = explorer.within({ ...setting, dim: Math.round(dim), samples: Math.round(samples) });
    document.getElementById("explorer-map-values").textContent = `At the pointer: ${said(explorer.predict(at), at)}`;
  }

  function readOwn(setting) {
    document.getElementById("explorer-map-values").textContent = said(explorer.predict(setting), setting);
  }

  // Where the dot goes from a setting when it is moved by so many pixels.
  function shifted({ x, y }, setting, [across, up]) {
    const moved = (scale, size, by, start) => (Math.abs(scale(size) + by - scale(start)) < SNAP ? start : Math.round(scale.back(scale(size) + by)));
    const { dim, samples } = explorer.START;
    return explorer.within({ ...setting, dim: moved(x, setting.dim, across, dim), samples: moved(y, setting.samples, up, samples) });
  }

  // Pointer and keys: what is under the pointer is read out; a press moves the dot there; keys move d and N.
  function listen(map, state) {
    const { picture, dot, x, y } = map;
    let from = null, moved = false;
    picture.addEventListener("pointerdown", (event) => {
      moved = false;
      if (!dot.contains(event.target)) return;
      from = { setting: state.setting, at: place(picture, event) };
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener("pointermove", (event) => {
      const [across, up] = place(picture, event);
      if (!from) return readOut(state.setting, [x.back(across), y.back(up)]);
      const shift = [across - from.at[0], up - from.at[1]];
      moved ||= Math.hypot(...shift) >= STILL;
      if (!moved) return;
      state.move(shifted(map, from.setting, shift));
    });
    for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => { from = null; });
    picture.addEventListener("click", (event) => {
      const { setting } = state, [across, up] = place(picture, event);
      if (!moved && !dot.contains(event.target)) state.move(shifted(map, setting, [across - x(setting.dim), up - y(setting.samples)]));
    });
    picture.addEventListener("pointerleave", () => readOwn(state.setting));
    dot.addEventListener("keydown", (event) => {
      const [size, by] = KEYS[event.key] ?? [];
      if (!size) return;
      event.preventDefault();
      state.move(explorer.stepped(state.setting, size, by));
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
      document.getElementById("explorer-map-key").textContent = setting.width === null && setting.learner !== "trained"
        ? "the noise that costs most accuracy there" : "what most lost facts are there";
      legend(known);
    }
    const found = explorer.predict(setting), { dot, x, y } = known;
    dot.setAttribute("transform", `translate(${x(setting.dim).toFixed(1)} ${y(setting.samples).toFixed(1)})`);
    const [across, up] = [x(setting.dim), y(setting.samples)];
    const own = { left: across - DOT, right: across + DOT, top: up - DOT, bottom: up + DOT };
    for (const name of known.names) name.text.setAttribute("visibility", touch(name, own) ? "hidden" : "visible");
    dot.setAttribute("aria-valuenow", found.accuracy.toFixed(3));
    dot.setAttribute("aria-valuetext", said(found, setting));
    readOwn(setting);
  };

  function words({ cells, regions }) {
    const shares = regions.map(([region, own]) => `${region} on ${Math.round(100 * own.length / cells.length)} %`);
    return `Regions of the map of d and N, by share: ${shares.join("; ")}.`;
  }
})((window.explorer = window.explorer || {}));
