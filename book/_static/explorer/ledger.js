// Every noise of the theory with its size, as bars on a logarithmic scale.
(function (explorer) {
  "use strict";

  const FLOOR = 1e-6; // where bars begin

  const LINKED = ["mean bias", "frequency noise", "gradient noise", "trigger overlap", "label frequencies", "interference", "coverage"]; // in the glossary

  const number = (value) => (value === 0 ? "0" : value >= 1e-3 && value < 1e3 ? String(Number(value.toPrecision(3))) : value.toExponential(1));

  function row({ name, size, stage }, high) {
    const share = Math.log(Math.max(size, FLOOR * 1.15) / FLOOR) / Math.log(high / FLOOR);
    const item = document.createElement("li"), bar = document.createElement("i");
    item.dataset.noise = name;
    bar.className = `explorer-bar stage-${stage}`;
    bar.style.width = `${(100 * share).toFixed(1)}%`;
    const track = Object.assign(document.createElement("span"), { className: "explorer-track" });
    track.append(bar);
    const linked = LINKED.includes(name) ? { href: `glossary.html#term-${name.replaceAll(" ", "-")}` } : {};
    item.append(Object.assign(document.createElement(linked.href ? "a" : "span"), { textContent: name, ...linked }), track,
      Object.assign(document.createElement("span"), { textContent: number(size) }));
    return item;
  }

  explorer.drawLedger = function ({ setting }) {
    const terms = explorer.ledgerOf(setting), high = Math.max(1, ...terms.map((term) => term.size));
    document.getElementById("explorer-ledger").replaceChildren(...terms.map((term) => row(term, high)));
  };
})((window.explorer = window.explorer || {}));
