// Drawing: elements, logarithmic and linear scales, axes. Charts say what, this says how.
(function (explorer) {
  "use strict";

  const SPACE = "http://www.w3.org/2000/svg";

  // An SVG element with attributes and children; text is a child.
  function make(tag, attributes = {}, ...children) {
    const element = document.createElementNS(SPACE, tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const linear = ([low, high], [start, end]) => Object.assign(
    (value) => start + (end - start) * (value - low) / (high - low),
    { back: (place) => low + (high - low) * (place - start) / (end - start), low, high });

  function log([low, high], span) {
    const inner = linear([Math.log(low), Math.log(high)], span);
    return Object.assign((value) => inner(Math.log(value)), { back: (place) => Math.exp(inner.back(place)), low, high });
  }

  // 1, 10, 100, ... or, for few decades, powers of two: at most `most` of them inside a scale.
  function decades({ low, high }, most) {
    for (const [base, step] of [[2, 1], [2, 2], [10, 1], [10, 2], [10, 3]]) {
      const first = Math.ceil(Math.log(low) / Math.log(base) / step - 1e-9) * step;
      const found = [];
      for (let power = first; base ** power <= high * (1 + 1e-9); power += step) found.push(base ** power);
      if (found.length <= most) return found;
    }
    return [low, high];
  }

  // A number as a reader would write it: 0.0013, 0.82, 96, 2,048, 123,000, 1.2 M.
  function short(value) {
    if (value < 0) return `−${short(-value)}`;
    if (value >= 1e6) return `${Number((value / 1e6).toPrecision(2))} M`;
    if (value >= 1e3) return Math.round(value >= 1e5 ? Number(value.toPrecision(3)) : value).toLocaleString("en");
    return value >= 1e-4 || value === 0 ? String(Number(value.toPrecision(3))) : value.toExponential(0);
  }

  const brief = (value) => (value >= 1e4 && value < 1e6 ? `${Math.round(value / 1e3)}k` : short(value));

  // Lines from points; where `y` is no number the line breaks.
  function path(points) {
    let drawn = "", up = true;
    for (const [x, y] of points) {
      if (Number.isFinite(y)) drawn += `${up ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
      up = !Number.isFinite(y);
    }
    return drawn;
  }

  const label = (text, x, y, attributes = {}) => make("text", { x, y, ...attributes }, text);

  // An empty chart as wide as its box: the picture, its plot and two scales with ticks and names.
  function frame(box, { height, x, y, left = 58, bottom = 40, top = 12, right = 22 }) {
    const width = Math.max(280, Math.min(860, box.clientWidth || 640));
    const picture = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "explorer-svg" });
    const across = x.scale(x.domain, [left, width - right]), up = y.scale(y.domain, [height - bottom, top]);
    const axes = make("g", { class: "explorer-axes", "aria-hidden": "true" });
    for (const tick of x.ticks(across)) {
      axes.append(make("line", { x1: across(tick), x2: across(tick), y1: top, y2: height - bottom }));
      axes.append(label(brief(tick), across(tick), height - bottom + 16, { "text-anchor": "middle" }));
    }
    for (const tick of y.ticks(up)) {
      axes.append(make("line", { x1: left, x2: width - right, y1: up(tick), y2: up(tick) }));
      axes.append(label(brief(tick), left - 6, up(tick) + 4, { "text-anchor": "end" }));
    }
    axes.append(label(x.name, (left + width - right) / 2, height - 4, { "text-anchor": "middle" }));
    if (y.name) axes.append(label(y.name, 0, 0, { "text-anchor": "middle", transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)` }));
    const plot = make("g");
    picture.append(axes, plot);
    return { picture, plot, x: across, y: up, width, height, left, right, top, bottom };
  }

  // Where a pointer is, in units of a picture.
  function place(picture, event) {
    const box = picture.getBoundingClientRect(), view = picture.viewBox.baseVal;
    return [(event.clientX - box.left) * view.width / box.width, (event.clientY - box.top) * view.height / box.height];
  }

  explorer.svg = { make, linear, log, decades, short, path, label, frame, place };
})((window.explorer = window.explorer || {}));
