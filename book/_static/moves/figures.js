// The bindings: of each figure that moves its sliders, the numbers that follow from them, how they are drawn and
// what is said. Numbers are formulas of the package (explorer/formulas.js), its predictions (data.js), or computed here.
(function (moves, explorer) {
  "use strict";

  const { make, linear, log, decades, short, path, label, frame } = explorer.svg, { figures } = moves;
  const hundredths = (value) => (Math.round(value * 100) / 100 || 0).toFixed(2).replace("-", "−");
  const round = (value, digits) => short(Number(value.toPrecision(digits)));
  const show = (chart, { picture }) => chart.replaceChildren(picture);
  const line = (points, kind) => make("path", { d: path(points), class: kind });
  const upright = ({ plot, x, y }, at, words, kind, raise = 10) => plot.append(
    make("line", { x1: x(at), x2: x(at), y1: y(y.high), y2: y(y.low), class: `rule ${kind}` }),
    label(words, x(at) + 4, y(y.high) + raise, {}));
  const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

  // -- Chapter 5: signal and scatter -----------------------------------------------------------------

  const density = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  const NOISES = ["mean bias", "trigger overlap", "frequency noise", "gradient noise", "unequal lengths", "bias noise", "fact interference", "uneven facts"];

  figures["lock-on"] = {
    figure: "fig-lock-running",
    guess: "Guess first: halving or doubling which of the four sizes parts the two clouds most?",
    caption: "A typical draw without the trigger in the values. Above: predicted scores of the tokens without and with the trigger, in units of " +
      "their scatter; dashed: the threshold √(2 ln <i>K</i>). Below: the standard deviation of each noise, signal = 1.",
    sliders: {
      N: { name: "sequences", values: [256, 512, 1024, 2048, 4096, 8192, 16384, 65536], at: 2048 },
      L: { name: "length", values: [8, 16, 32, 64, 96, 128, 192, 256], at: 128 },
      d: { name: "dimensions", values: [24, 32, 48, 64, 96, 128, 192, 256], at: 96 },
      V: { name: "facts", values: [64, 128, 256, 512, 1024], at: 256 },
    },
    numbers(sizes) {
      const noises = NOISES.map((name) => [name, explorer.ledger[name]({ ...sizes, tau: 0 })]);
      const r = sum(noises.map(([, size]) => size)) ** -0.5, K = sizes.V * -Math.expm1((sizes.L - 1) * Math.log1p(-1 / sizes.V));
      let lockOn = 0;
      for (let x = -8; x < 8; x += 0.02) lockOn += 0.02 * density(x) * explorer.normal(Math.SQRT2 * x + r) ** K;
      return { r, K, threshold: Math.sqrt(2 * Math.log(K)), lockOn, noises: noises.map(([name, size]) => [name, Math.sqrt(size)]) };
    },
    words: ({ r, K, threshold, lockOn }) => `${Math.round(K)} tokens compete, and the threshold is ${threshold.toFixed(1)}. ` +
      `The trigger adds ${r.toFixed(1)} times the scatter${r > 16 ? ", beyond the axis" : ""}: lock-on ${lockOn.toFixed(2)}, a mean over draws.`,
    draw(chart, { r, threshold, noises }) {
      const found = frame(chart, {
        height: 332, left: 122, bottom: 202, top: 18,
        x: { scale: linear, domain: [-4, 19], ticks: () => [0, 4, 8, 12, 16], name: "" },
        y: { scale: linear, domain: [0, 0.42], ticks: () => [] },
      });
      const { plot, x, y } = found, grid = Array.from({ length: 93 }, (_, i) => -4 + i / 4);
      [["lock-on", 0, "tokens"], ["recall", r, "with the trigger"]].forEach(([kind, middle, words], i) => {
        const bell = grid.map((at) => [x(at), y(density(at - middle))]);
        plot.append(make("path", { d: `${path(bell)}V${y(0)}H${x(-4)}Z`, class: `area ${kind}` }));
        plot.append(label(words, x(middle), y(0.4) - 4, { "text-anchor": i ? "start" : "end", class: kind, style: "fill: currentcolor" }));
      });
      plot.append(label("score over scatter", x(19), y(0) + 30, { "text-anchor": "end" }));
      upright(found, threshold, "threshold", "broken ink", 40);
      const along = linear([0, 1.2], [122, x(19)]), top = 168, rows = [["all noises", 1 / r], ...noises];
      rows.forEach(([name, size], i) => plot.append(
        label(name, 116, top + 10 + 18 * i, { "text-anchor": "end" }),
        make("rect", { x: 122, y: top + 18 * i, width: along(Math.min(size, 1.2)) - 122, height: 12, class: i ? "lock-on" : "recall" })));
      plot.append(make("line", { x1: along(1), x2: along(1), y1: top - 4, y2: top + 162, class: "rule ink" }),
        label("signal", along(1) + 4, top + 156));
      show(chart, found);
    },
  };

  // -- Chapter 2: facts are added to one matrix ------------------------------------------------------

  const MOST = 800, WIDEST = 128;

  // Standard normal numbers from a seed: mulberry32 and the method of Box and Muller.
  function normals(seed, count) {
    let state = seed;
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
    return Float64Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
  }

  let drawn = null; // tables of the largest sizes; smaller ones are their corners

  const tables = () => (drawn ??= { Z: normals(1, MOST * WIDEST), U: normals(2, MOST * WIDEST) });

  // Rows of a table in d dimensions, of mean square length 1.
  const rows = (table, n, d) => Array.from({ length: n }, (_, v) =>
    table.subarray(v * WIDEST, v * WIDEST + d).map((entry) => entry / Math.sqrt(d)));

  const dot = (a, b) => { let total = 0; for (let i = 0; i < a.length; i++) total += a[i] * b[i]; return total; };

  figures.memory = {
    figure: "fig-logits",
    guess: "Guess first: how many facts can you add before the right logit drowns in the cloud?",
    caption: "All logits of one question, from a matrix that this page has added up from random embeddings (one fixed draw). " +
      "Orange: the right one. Dotted: where the largest wrong one is expected.",
    sliders: {
      n: { name: "facts stored", values: Array.from({ length: MOST - 1 }, (_, i) => i + 2), at: 256 },
      d: { name: "dimensions", values: [16, 24, 32, 48, 64, 96, 128], at: 96 },
    },
    tables,
    numbers({ n, d }) {
      const [Z, U] = Object.values(tables()).map((table) => rows(table, n, d));
      const columns = Array.from({ length: d }, () => new Float64Array(d)); // of the transposed matrix
      for (let j = 0; j < n; j++) for (let a = 0; a < d; a++) for (let b = 0; b < d; b++) columns[a][b] += U[j][a] * Z[j][b];
      const ask = (v) => { const h = Float64Array.from(columns, (row) => dot(row, Z[v])); return Float64Array.from(U, (u) => dot(u, h)); };
      const logits = ask(0), wrong = logits.slice(1);
      let known = 0;
      for (let v = 0; v < n; v++) { const found = ask(v), own = found[v]; if (found.every((logit, k) => k === v || logit < own)) known++; }
      const spread = Math.sqrt((n - 2 + 2 * (d + 2)) / d ** 2);
      return { right: logits[0], largest: Math.max(...wrong), known, spread, reach: spread * explorer.quantile(0.5 ** (1 / (n - 1))), wrong: [...wrong] };
    },
    words: ({ right, largest, known, spread }, { n, d }) => `Right logit ${right.toFixed(2)}, largest wrong one ${largest.toFixed(2)}: the right one ` +
      `${right > largest ? "stands out" : "drowns"}. Wrong logits scatter by ${spread.toFixed(2)} (expected). Of ${n} facts in ${d} dimensions ${known} are recalled.${Math.max(right, largest) > 2.2 ? " What is larger than 2.2 stands at the end of the axis." : ""}`,
    draw(chart, { right, reach, wrong }) {
      const found = frame(chart, {
        height: 250, left: 14, top: 24,
        x: { scale: linear, domain: [-1.6, 2.2], ticks: () => [-1, 0, 1, 2], name: "logit" }, y: { scale: linear, domain: [0, 1], ticks: () => [] },
      });
      const { plot, x, y } = found, held = (logit) => x(Math.max(-1.6, Math.min(2.2, logit)));
      plot.append(make("g", { class: "cloud faint" }, ...wrong.map((logit, i) =>
        make("circle", { cx: held(logit).toFixed(1), cy: y(0.04 + 0.92 * ((0.5 + i * 0.6180339887) % 1)).toFixed(1), r: 2.5 }))));
      plot.append(make("line", { x1: held(right), x2: held(right), y1: y(1), y2: y(0), class: "rule recall" }),
        make("circle", { cx: held(right), cy: y(0.5), r: 8, class: "recall" }));
      plot.append(make("line", { x1: held(reach), x2: held(reach), y1: y(1), y2: y(0), class: "rule dotted ink" }));
      plot.append(label("right", held(right), y(1) - 8, { "text-anchor": "middle" }));
      show(chart, found);
    },
  };

  // -- Chapter 9: critical N, and the product of powers that fits where one stands -------------------

  const { product } = moves.data, at = (list, value) => list.indexOf(value);

  // The power of one size around a place of the table: between the neighbours that are there.
  function power(before, here, after) {
    const ends = [before, here, after].filter((one) => one && Number.isFinite(one[1]));
    const [first, last] = [ends[0], ends[ends.length - 1]];
    return Math.log(last[1] / first[1]) / Math.log(last[0] / first[0]);
  }

  figures.product = {
    figure: "fig-multiply-envelope",
    guess: "Guess first: a product of powers is fitted at the star. How far does it stay near the line?",
    caption: "Critical <i>N</i> for one half of accuracy (solid) and lock-on (broken), predicted, <i>V</i> = 256, trigger not in the values. Dotted: coverage. " +
      "Grey: the product of powers that agrees with accuracy at the star and at its neighbours.",
    sliders: {
      L: { name: "length", values: product.L, at: 128 },
      d: { name: "dimensions", values: product.d, at: 96 },
    },
    numbers({ L, d }) {
      const level = (name) => product[name].map((row) => row.map((N) => N ?? Infinity)), accuracy = level("accuracy");
      const [i, j] = [at(product.L, L), at(product.d, d)], N = accuracy[i][j];
      const found = { N, accuracy: accuracy[i], lockOn: level("lock_on")[i] };
      if (N === Infinity) return found;
      const along = (sizes, values, k) => power(...[k - 1, k, k + 1].map((one) => one in sizes && [sizes[one], values[one]]));
      const a = along(product.d, accuracy[i], j), b = along(product.L, accuracy.map((row) => row[j]), i);
      const fitted = (length, dim) => N * (dim / d) ** a * (length / L) ** b;
      const off = accuracy.flatMap((row, l) => row.map((n, k) => Math.abs(Math.log(n / fitted(product.L[l], product.d[k])))).filter(Number.isFinite));
      return { ...found, a, b, fitted: product.d.map((dim) => fitted(L, dim)), off: Math.exp(Math.max(...off)) };
    },
    words: ({ N, a, b, off }) => (N === Infinity ? `Left of the wall, <i>d</i> = ${product.wall}, no <i>N</i> recalls half of the facts, and no product says so.`
      : `Critical <i>N</i> is ${round(N, 2)}${N < 10 || N > 1e5 ? ", beyond the axis" : ""}. Here it goes like <i>d</i><sup>${a.toFixed(1)}</sup><i>L</i><sup>${b.toFixed(1)}</sup>; elsewhere on this map that product is off by up to a factor of ${round(off, 2)}.`).replaceAll("-", "−"),
    draw(chart, { N, accuracy, lockOn, fitted }, { d }) {
      const found = frame(chart, {
        height: 300, left: 62,
        x: { scale: log, domain: [45, 512], ticks: () => [64, 128, 256, 512], name: "dimensions d" },
        y: { scale: log, domain: [10, 1e5], ticks: (scale) => decades(scale, 5), name: "critical N" },
      });
      const { plot, x, y } = found, inside = (n) => (n > y.low && n < y.high ? y(n) : NaN);
      const points = (values) => product.d.map((dim, i) => [x(dim), inside(values[i])]);
      upright(found, product.wall, "wall", "dotted faint");
      if (fitted) {
        const ends = points(fitted);
        plot.append(line(ends, "faint"), label("product", ...ends.filter(([, up]) => up === up).pop().map((p, i) => p - (i ? 6 : 48)), { class: "faint" }));
      }
      plot.append(line([[x(45), y(product.coverage)], [x(512), y(product.coverage)]], "dotted ink"), line(points(lockOn), "broken lock-on"), line(points(accuracy), "accuracy"));
      plot.append(label(N === Infinity ? "no N" : "★", x(d), N === Infinity ? y(y.high) + 24 : inside(N) + 6, { "text-anchor": "middle", style: "font-size: 18px" }));
      show(chart, found);
    },
  };

  // -- Chapter 7: an activation's kernel, and the facts recalled with it ------------------------------

  const { neurons } = moves.data, names = Object.keys(neurons.kernel);

  figures.neurons = {
    figure: "fig-mlp-width",
    guess: "Guess first: how must the curve run near zero, so that more neurons recall more facts?",
    caption: `The kernel over its value at 1: what an overlap becomes in feature space. Grey: overlaps of two tokens at <i>d</i> = ${neurons.d}; flat and zero there is good. ` +
      `Bars: share recalled of 256 facts, perfect attention, unlimited data (predicted).`,
    sliders: { "": { name: "activation", values: names, at: "relu" }, m: { name: "neurons", values: neurons.m, at: 512 } },
    numbers({ "": name, m }) {
      const powers = neurons.kernel[name], typical = neurons.d ** -0.5;
      const kernel = (rho) => powers.reduceRight((total, one) => total * rho + one, 0);
      return { kernel, typical: kernel(typical), opposite: kernel(-typical), recalls: neurons.recall[name], recall: neurons.recall[name][at(neurons.m, m)] };
    },
    words: ({ typical, opposite, recall }, { "": name, m }) =>
      `${name}: ±${(neurons.d ** -0.5).toFixed(2)} becomes ${hundredths(typical)} and ${hundredths(opposite)}. ` +
      `With ${short(m)} neurons ${recall.toFixed(2)} of the facts are recalled.`,
    draw(chart, { kernel, recalls }, { m }) {
      const found = frame(chart, {
        height: 190, left: 40, right: 190, bottom: 36,
        x: { scale: linear, domain: [-1, 1], ticks: () => [-1, -0.5, 0, 0.5, 1], name: "overlap" },
        y: { scale: linear, domain: [-1, 1], ticks: () => [-1, 0, 1] },
      });
      const { plot, x, y, width } = found, band = 2 * neurons.d ** -0.5, grid = Array.from({ length: 101 }, (_, i) => i / 50 - 1);
      plot.append(make("rect", { x: x(-band), y: y(1), width: x(band) - x(-band), height: y(-1) - y(1), class: "faint", "fill-opacity": 0.2 }));
      plot.append(line(grid.map((rho) => [x(rho), y(kernel(rho))]), "recall"));
      const left = width - 160, up = linear([0, 1], [y(-1), y(1) + 14]);
      recalls.forEach((share, i) => plot.append(
        make("rect", { x: left + 22 * i, y: up(share), width: 16, height: up(0) - up(share), class: neurons.m[i] === m ? "accuracy" : "faint" })));
      plot.append(make("line", { x1: left, x2: left + 148, y1: up(0), y2: up(0), class: "rule faint" }), label("recalled, by m", left, y(1) + 4),
        label(neurons.m[0], left, up(0) + 16), label(short(neurons.m[6]), left + 148, up(0) + 16, { "text-anchor": "end" }));
      show(chart, found);
    },
  };

  // -- Chapter 11: frequent tokens against the trigger -----------------------------------------------

  const { frequent } = moves.data;

  figures.frequent = {
    figure: "fig-unequal-scores",
    guess: "Guess first: from which exponent on is the most frequent token ahead of the trigger?",
    caption: "Scores of tokens in one draw (seed 0) by rank of frequency, in units of what the trigger adds, <i>L</i> = 16, <i>d</i> = 128, <i>N</i> = 2048. " +
      "Lock-on is predicted, an average over draws.",
    sliders: { "α": { name: "exponent", values: frequent.alpha, at: 1 }, "": { name: "output bias", values: Object.keys(frequent.scores), at: "none" } },
    numbers({ "α": exponent, "": bias }) {
      const i = at(frequent.alpha, exponent), scores = frequent.scores[bias][i];
      return { scores, first: scores[0], lockOn: frequent.lock_on[bias][i] };
    },
    words: ({ first, lockOn }) => `The most frequent token scores ${hundredths(first)} times what the trigger adds` +
      `${first > 1 ? ": it is ahead wherever it stands" : ""}${first > 9 ? " (drawn at the end of the axis)" : ""}. Lock-on ${lockOn.toFixed(2)}.`,
    draw(chart, { scores }) {
      const found = frame(chart, {
        height: 210, left: 40,
        x: { scale: log, domain: [0.9, 256], ticks: () => [1, 4, 16, 64, 256], name: "rank of the token" },
        y: { scale: linear, domain: [-1, 9], ticks: () => [0, 2, 4, 6, 8] },
      });
      const { plot, x, y } = found;
      plot.append(line([[x(0.9), y(1)], [x(256), y(1)]], "trigger"), label("what the trigger adds", x(256), y(1) - 6, { "text-anchor": "end" }));
      scores.forEach((score, i) => plot.append(make("circle", { cx: x(frequent.rank[i]), cy: y(Math.min(score, 9)), r: score > 1 ? 5 : 3, class: score > 1 ? "recall" : "lock-on" })));
      show(chart, found);
    },
  };
})(window.moves = window.moves || { figures: {} }, window.explorer);
