// All facts as squares: not seen, not located, drowned, known.
(function (explorer) {
  "use strict";

  const { make } = explorer.svg;
  const FATES = ["known", "drowned", "not located", "not seen"];

  // Whole numbers of facts with these shares, in all `count` of them.
  function whole(shares, count) {
    const parts = shares.map((share) => Math.floor(share * count));
    const order = shares.map((share, i) => i).sort((a, b) => shares[b] * count % 1 - shares[a] * count % 1);
    for (let i = 0, left = count - parts.reduce((a, b) => a + b); i < left; i++) parts[order[i % order.length]]++;
    return parts;
  }

  explorer.factsOf = function (setting) {
    const fates = explorer.fates(setting), counts = whole(FATES.map((fate) => fates[fate]), setting.vocab);
    return Object.fromEntries(FATES.map((fate, i) => [fate, counts[i]]));
  };

  function squares(from, count, columns, size) {
    let drawn = "";
    for (let i = from; i < from + count; i++) {
      const x = (i % columns) * size, y = Math.floor(i / columns) * size, side = size - Math.max(0.6, size / 8);
      drawn += `M${x.toFixed(1)} ${y.toFixed(1)}h${side.toFixed(1)}v${side.toFixed(1)}h${-side.toFixed(1)}z`;
    }
    return drawn;
  }

  function legend(counts) {
    return FATES.map((fate) => {
      const swatch = Object.assign(document.createElement("i"), { className: `explorer-swatch fate-${fate.replace(" ", "-")}` });
      const item = document.createElement("li");
      item.append(swatch, ` ${fate}: ${counts[fate].toLocaleString("en")}`);
      return item;
    });
  }

  explorer.drawWaffle = function ({ setting }) {
    const box = document.getElementById("explorer-waffle"), counts = explorer.factsOf(setting), count = setting.vocab;
    const wide = Math.max(280, Math.min(860, box.clientWidth || 640)), room = 150;
    const columns = Math.ceil(Math.sqrt(count * wide / room)), size = wide / columns;
    const picture = make("svg", { viewBox: `0 0 ${wide} ${(Math.ceil(count / columns) * size).toFixed(1)}`, role: "img", class: "explorer-svg" });
    let from = 0;
    for (const fate of FATES) {
      const words = `${fate}: ${counts[fate]} of ${count} facts`;
      picture.append(make("path", { d: squares(from, counts[fate], columns, size), class: `fate-${fate.replace(" ", "-")}` },
        make("title", {}, words)));
      from += counts[fate];
    }
    picture.setAttribute("aria-label", FATES.map((fate) => `${fate} ${counts[fate]}`).join(", ") + ` of ${count} facts`);
    box.replaceChildren(picture);
    document.getElementById("explorer-waffle-counts").replaceChildren(...legend(counts));
  };
})((window.explorer = window.explorer || {}));
