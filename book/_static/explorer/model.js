// From sizes to numbers: interpolation in the committed table, and what is known in closed form.
(function (explorer) {
  "use strict";

  // -- The table: tensor-product cubic B-splines, packed as 16-bit integers ------------------------

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Int16Array(await new Response(stream).arrayBuffer());
  }

  async function load(table) {
    const packed = await unpack(table.data);
    const nodes = table.axes.reduce((product, axis) => product * (axis.knots.length - 4), 1);
    const fields = table.fields.map(({ name, scale }, i) => ({
      name, scale, values: packed.subarray(i * nodes, (i + 1) * nodes),
    }));
    return { axes: table.axes, fields };
  }

  // The four cubic B-splines that are not zero at x, by the recursion of Cox and de Boor.
  function basis(knots, x) {
    let span = 3;
    while (span < knots.length - 5 && x >= knots[span + 1]) span++;
    const weights = [1, 0, 0, 0];
    for (let degree = 1; degree <= 3; degree++) {
      let carried = 0;
      for (let i = 0; i < degree; i++) {
        const right = knots[span + i + 1], left = knots[span + i + 1 - degree];
        const part = weights[i] / (right - left);
        weights[i] = carried + (right - x) * part;
        carried = (x - left) * part;
      }
      weights[degree] = carried;
    }
    return { first: span - 3, weights };
  }

  // Where the products of splines that are not zero at a point lie in a field, and how much each weighs.
  function products(axes, point) {
    let offsets = [0], factors = [1];
    axes.forEach((axis, i) => {
      const { first, weights } = basis(axis.knots, point[i]);
      const size = axis.knots.length - 4;
      offsets = offsets.flatMap((offset) => weights.map((_, j) => offset * size + first + j));
      factors = factors.flatMap((factor) => weights.map((weight) => factor * weight));
    });
    return { offsets, factors };
  }

  // Values of all fields at a point, one coordinate for each axis.
  function interpolate({ axes, fields }, point) {
    const { offsets, factors } = products(axes, point), found = {};
    for (const { name, scale, values } of fields) {
      let sum = 0;
      for (let j = 0; j < offsets.length; j++) sum += factors[j] * values[offsets[j]];
      found[name] = sum * scale;
    }
    return found;
  }

  // The table at fixed coordinates of its first axes: a map or a curve moves only along the others.
  function slice({ axes, fields }, point) {
    const rest = axes.slice(point.length), { offsets, factors } = products(axes.slice(0, point.length), point);
    const size = rest.reduce((product, axis) => product * (axis.knots.length - 4), 1);
    return {
      axes: rest,
      fields: fields.map(({ name, scale, values }) => {
        const sums = new Float64Array(size);
        offsets.forEach((offset, j) => {
          for (let i = 0; i < size; i++) sums[i] += factors[j] * values[offset * size + i];
        });
        return { name, scale, values: sums };
      }),
    };
  }

  // -- Where the table reaches -----------------------------------------------------------------------

  const LETTERS = { vocab: "V", seq_len: "L", dim: "d", samples: "N" };

  // Lowest and highest size of a field; those of N go with V.
  explorer.range = function (name, setting) {
    const range = explorer.data.range;
    if (name !== "samples") return range[name];
    return [Math.max(range.fewest, range.share[0] * setting.vocab), range.share[1] * setting.vocab];
  };

  // In words, what lies outside the table; nothing where all is inside.
  explorer.beyond = function (setting) {
    const words = Object.keys(LETTERS).flatMap((name) => {
      const [low, high] = explorer.range(name, setting), value = setting[name];
      if (value >= low && value <= high) return [];
      return [`${LETTERS[name]} = ${value} is outside the table, which has ${LETTERS[name]} from ${Math.ceil(low)} to ${Math.floor(high)}`];
    });
    const [narrow, wide] = explorer.data.range.width.map((ratio) => ratio * setting.dim);
    if (setting.width !== null && !words.length && !(setting.width >= narrow && setting.width <= wide)) {
      words.push(`m = ${setting.width} is outside the table, which has m from ${Math.ceil(narrow)} to ${Math.floor(wide)} at this d`);
    }
    return words.length ? `${words.join("; ")}. The code below asks the package itself.` : "";
  };

  // -- Predictions -----------------------------------------------------------------------------------

  const WORTH = 0.01; // where no removal gains so much, to name the best of them would say nothing
  explorer.NOTHING = "none gains 0.01";
  explorer.decides = ({ accuracy, without }) => without - accuracy >= WORTH;

  const unlog = (y) => -Math.expm1(-Math.exp(y)); // inverse of log(-log(1 - p))

  let sliced = { key: null, tables: null };

  // All tables of a trigger at one vocabulary and sequence length; the last ones asked for are kept.
  function tablesOf({ vocab, seq_len, trigger_in_values }) {
    const key = [vocab, seq_len, trigger_in_values].join();
    if (sliced.key !== key) {
      const whole = Object.entries(explorer.tables[Number(trigger_in_values)]), at = [vocab, seq_len].map(Math.log);
      sliced = { key, tables: Object.fromEntries(whole.map(([name, table]) => [name, slice(table, at)])) };
    }
    return sliced.tables;
  }

  // -- What is necessary, and what suffices -----------------------------------------------------------

  // The number at which a rising function reaches a level, to a part in a million.
  function bisect(low, high, reached) {
    while (high > low * (1 + 1e-6) + 1e-9) {
      const middle = (low + high) / 2;
      if (reached(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  // Whatever the method: so many facts must have been seen at the page's accuracy.
  explorer.necessary = function ({ vocab: V }) {
    return Math.max(0, explorer.needs.coverage({ V, unseen: (1 - explorer.data.accuracy) * V + 1 }));
  };

  // rb.minimum_samples at the page's accuracy: readers of one gradient, with a reading error of 1.
  explorer.oneGradient = function ({ vocab: V, seq_len: L, dim, width }) {
    const { accuracy } = explorer.data, { needs } = explorer, reading = 1;
    const covered = explorer.necessary({ vocab: V });
    const nats = needs.someFacts({ named: accuracy * V });
    const rows = Math.min(dim, V - 1), columns = Math.min(width ?? dim, V - 1);
    if (L === 1) return covered;
    const least = needs.samples({ V, L, reading, nats, directions: rows * columns });
    if (least >= rows) return Math.max(least, covered);
    // So few sequences that some directions of the labels stay empty.
    const enough = (N) => needs.available({ V, L, N, reading, directions: Math.min(rows, N) * columns }) >= nats;
    return Math.max(bisect(0, rows, enough), covered);
  };

  // A number that was proved to suffice at these very sizes, if the book has one.
  explorer.sufficient = function (setting) {
    if (setting.width !== null) return null;
    return explorer.data.sufficient.find((row) => ["vocab", "seq_len", "dim", "trigger_in_values"]
      .every((name) => row[name] === setting[name])) ?? null;
  };

  // Predictions at sizes inside the table; `phase` is null where the table does not know what binds.
  explorer.predict = function (setting) {
    const tables = tablesOf(setting), point = [Math.log(setting.dim), Math.log(setting.samples / setting.vocab)];
    const main = interpolate(tables.main, point);
    if (setting.width !== null) {
      const change = interpolate(tables.width, [...point, Math.log(setting.width / setting.dim)]);
      for (const name of Object.keys(main)) main[name] += change[name];
    }
    // The table holds lock-on, answers where it locked on, and recall less what lock-on gives.
    const lockOn = unlog(main.lock_on);
    const found = { accuracy: lockOn * unlog(main.answered), lock_on: lockOn, recall: unlog(main.recalled + Math.log(lockOn)) };
    if (setting.width !== null) return { ...found, phase: null, without: null };
    const gains = Object.entries(interpolate(tables.without, point));
    const [phase, gain] = gains.reduce((best, next) => (next[1] > best[1] ? next : best));
    return { ...found, phase, without: unlog(Math.log(-Math.log1p(-found.accuracy)) + gain) };
  };

  explorer.ledgerOf = function ({ vocab, seq_len, dim, samples, trigger_in_values }) {
    const sizes = { V: vocab, L: seq_len, d: dim, N: samples, tau: Number(trigger_in_values) };
    const later = explorer.data.recall_terms;
    return Object.entries(explorer.ledger).map(([name, size]) => ({
      name, size: size(sizes), stage: name === "coverage" ? "coverage" : later.includes(name) ? "recall" : "lock-on",
    }));
  };

  // Evenly in the logarithm from low to high, both included.
  function spaced(low, high, count) {
    return Array.from({ length: count }, (_, i) => low * (high / low) ** (i / (count - 1)));
  }

  explorer.curve = function (setting) {
    const [low, high] = explorer.range("samples", setting);
    return spaced(low, high, 97).map((samples) => ({ samples, ...explorer.predict({ ...setting, samples }) }));
  };

  // The smallest number of sequences with the page's accuracy, as rb.critical_samples; Infinity where there is none.
  explorer.critical = function (setting) {
    const { accuracy } = explorer.data, [low, high] = explorer.range("samples", setting);
    const reached = (samples) => explorer.predict({ ...setting, samples }).accuracy >= accuracy;
    const steps = spaced(low, high, 49), first = steps.findIndex(reached);
    if (first < 0) return Infinity;
    return first === 0 ? low : bisect(steps[first - 1], steps[first], reached);
  };

  // Cells of the map: their edges, the accuracy in the middle, and what binds there.
  explorer.map = function (setting, cells) {
    const dims = spaced(...explorer.range("dim"), cells + 1);
    const samples = spaced(...explorer.range("samples", setting), cells + 1);
    const found = [];
    for (let i = 0; i < cells; i++) {
      for (let j = 0; j < cells; j++) {
        const middle = { ...setting, dim: Math.sqrt(dims[i] * dims[i + 1]), samples: Math.sqrt(samples[j] * samples[j + 1]) };
        if (setting.width !== null && explorer.beyond(middle)) continue; // so many neurons are too many or too few there
        const { accuracy, without, phase } = explorer.predict(middle);
        const cell = { dim1: dims[i], dim2: dims[i + 1], samples1: samples[j], samples2: samples[j + 1], accuracy };
        found.push({ ...cell, phase: phase === null || explorer.decides({ accuracy, without }) ? phase : explorer.NOTHING });
      }
    }
    return found;
  };

  explorer.criticalByDim = function (setting, count) {
    return spaced(...explorer.range("dim"), count)
      .map((dim) => ({ ...setting, dim }))
      .filter((at) => setting.width === null || !explorer.beyond(at))
      .map((at) => ({ dim: at.dim, samples: explorer.critical(at) }))
      .filter(({ samples }) => Number.isFinite(samples));
  };

  // Numbers of sequences to mark on the curve.
  explorer.marks = function (setting) {
    const critical = explorer.critical(setting), proved = explorer.sufficient(setting);
    const share = explorer.data.accuracy;
    return [
      { name: "necessary", samples: explorer.necessary(setting),
        words: "proved, for every method: coverage" },
      { name: "one gradient", samples: explorer.oneGradient(setting),
        words: "proved, for readers of the first gradient through as much noise again; three steps look twice, so it does not bind them" },
      { name: "critical", samples: critical,
        words: critical === Infinity ? `no N of the table has a predicted accuracy of ${share}` : `predicted accuracy ${share}` },
      { name: "sufficient", samples: proved ? proved.sufficient : Infinity,
        words: proved ? "proved, by certificates"
          : "rb.sufficient_samples tries certificates, which takes minutes, and the closed form, which proves nothing for d up to 500" },
    ];
  };

  // -- Doubts: the conditions of recallbook/theory/doubts.py that sizes of this page can meet ----------

  const APPLIES = {
    "few sequences": (s) => 2 * s.samples < s.vocab && `N = ${s.samples} is below half of V`,
    "long sequences": (s) => s.seq_len > s.vocab && `L = ${s.seq_len} is above V`,
    "partial lock-on in long sequences": (s, lock, [low, high]) =>
      4 * s.seq_len > s.vocab && low < lock && lock < high && "lock-on is partial and L is above a quarter of V",
    "few neurons": (s) => s.width !== null && s.width < s.dim && s.seq_len > 1 && `m = ${s.width} is below d`,
  };

  // In words, where the predictor itself is in doubt, and by about how much it is then off.
  explorer.doubts = function (setting, lockOn) {
    const { doubts, partial } = explorer.data, said = [], off = {};
    let unchecked = false;
    for (const [name, applies] of Object.entries(APPLIES)) {
      const words = applies(setting, lockOn, partial);
      if (!words) continue;
      said.push(words);
      const sizes = Object.entries(doubts[name]);
      if (!sizes.length) unchecked = true;
      for (const [quantity, size] of sizes) off[quantity] = Math.max(size, off[quantity] ?? 0);
    }
    if (!said.length) return "";
    const sizes = Object.entries(off).sort().map(([name, size]) => `${name.replace("_", "-")} by about ${size.toFixed(2)}`);
    const ends = [sizes.length ? `off in ${sizes.join(", ")}` : "",
      unchecked ? "it is beyond the settings where predictions were checked" : ""];
    return `The prediction is in doubt: ${said.join("; ")}: ${ends.filter(Boolean).join("; ")}.`;
  };

  // -- Loading ---------------------------------------------------------------------------------------

  async function loadAll() {
    explorer.tables = await Promise.all(explorer.data.tables.map(async (tables) => {
      const loaded = await Promise.all(Object.values(tables).map(load));
      return Object.fromEntries(Object.keys(tables).map((name, i) => [name, loaded[i]]));
    }));
  }

  explorer.ready = loadAll();
})((window.explorer = window.explorer || {}));
