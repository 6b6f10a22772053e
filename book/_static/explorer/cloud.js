// One question: the wrong logits as a cloud, the right one, and how far the largest wrong one reaches.
(function (explorer) {
  "use strict";

  const { make, linear, short, label, frame } = explorer.svg;
  const MOST = 600; // dots
  const EDGE = 2.2; // of the axis, in right logits

  // Fixed numbers in the unit interval, so that a dot moves with the sizes and not by chance.
  const fixed = (i, step) => (0.5 + i * step) % 1;

  function dots(count) {
    return Array.from({ length: Math.min(count, MOST) }, (_, i) => ({
      standard: explorer.quantile((i + 0.5) / Math.min(count, MOST)), height: fixed(i, 0.6180339887),
    }));
  }

  let known = { count: 0, wide: 0 };

  function blank(box, count) {
    const found = frame(box, {
      height: 204, left: 14, bottom: 40, top: 48,
      x: { scale: linear, domain: [-EDGE, EDGE], ticks: () => [-2, -1, 0, 1, 2], name: "logit, in units of the right one of an average fact" },
      y: { scale: linear, domain: [0, 1], ticks: () => [] },
    });
    const cloud = dots(count).map((dot) => {
      const circle = make("circle", { r: count > 200 ? 2.2 : 3, cy: found.y(0.08 + 0.84 * dot.height) });
      found.plot.append(circle);
      return { ...dot, circle };
    });
    found.plot.setAttribute("class", "explorer-wrong");
    const { y, x } = found, lines = make("g");
    const threshold = make("line", { y1: y(1), y2: y(0), class: "explorer-threshold" });
    const reach = label("largest wrong logit", 0, y(1) - 20, { "text-anchor": "middle" });
    const right = make("g", { class: "explorer-right" }, make("line", { x1: x(1), x2: x(1), y1: y(1), y2: y(0) }),
      make("circle", { cx: x(1), cy: y(0.5), r: 8 }));
    const once = make("g", { class: "explorer-once" }, make("line", { y1: y(1), y2: y(0.5) }), make("circle", { cy: y(0.5), r: 5 }),
      label("seen once", 0, y(1) - 34, { "text-anchor": "middle" }));
    lines.append(threshold, reach, right, label("right", x(1), y(1) - 6, { "text-anchor": "middle", class: "explorer-name" }), once);
    found.picture.append(lines);
    found.picture.setAttribute("role", "img");
    box.replaceChildren(found.picture);
    return { ...found, cloud, threshold, reach, once, count, wide: box.clientWidth };
  }

  function words({ spread, reach, once }) {
    const verdict = (logit) => (reach < logit ? "stands out" : "drowns");
    return `Wrong logits scatter by ${short(Number(spread.toPrecision(2)))}; the largest reaches about ${reach.toFixed(2)}: ` +
      `an average fact ${verdict(1)}. The right logit of a fact seen once is ${short(Number(once.toPrecision(2)))}: it ${verdict(once)}.`;
  }

  explorer.drawCloud = function ({ setting }) {
    const box = document.getElementById("explorer-cloud"), logits = explorer.logitsOf(setting);
    const count = setting.vocab - 1;
    if (known.count !== count || known.wide !== box.clientWidth) known = blank(box, count);
    const { x, cloud, threshold, reach, once, picture } = known;
    const inside = (logit) => Math.abs(logit) <= EDGE;
    for (const { standard, circle } of cloud) {
      const logit = logits.spread * standard;
      circle.setAttribute("cx", x(Math.max(-EDGE, Math.min(EDGE, logit))).toFixed(1));
      circle.setAttribute("opacity", inside(logit) ? 1 : 0);
    }
    const end = x(Math.min(EDGE, logits.reach)).toFixed(1);
    threshold.setAttribute("transform", `translate(${end} 0)`);
    reach.setAttribute("x", Math.min(end, x(EDGE) - 50));
    once.setAttribute("transform", `translate(${x(Math.min(EDGE, logits.once)).toFixed(1)} 0)`);
    once.setAttribute("visibility", Math.abs(logits.once - 1) > 0.03 ? "visible" : "hidden");
    picture.setAttribute("aria-label", words(logits));
    document.getElementById("explorer-cloud-values").textContent = words(logits);
  };
})((window.explorer = window.explorer || {}));
