// From sizes to numbers: predictions in the committed table, and what follows from them.
(function (explorer) {
  "use strict";

  // -- Where the table reaches -----------------------------------------------------------------------

  const LETTERS = { vocab: "V", seq_len: "L", dim: "d", samples: "N" };
  explorer.SIZES = Object.keys(LETTERS);
  explorer.LETTERS = LETTERS;

  // Lowest and highest size of a field; those of N go with V, those of the width with d.
  explorer.range = function (name, setting) {
    const range = explorer.data.range;
    if (name === "samples") return [Math.max(range.fewest, range.share[0] * setting.vocab), range.share[1] * setting.vocab];
    return name === "width" ? range.width.map((ratio) => ratio * setting.dim) : range[name];
  };

  // The nearest setting inside the table.
  explorer.within = function (setting) {
    const found = { ...setting };
    for (const name of [...explorer.SIZES, ...(setting.width === null ? [] : ["width"])]) {
      const [low, high] = explorer.range(name, found);
      found[name] = Math.min(Math.floor(high), Math.max(Math.ceil(low), found[name]));
    }
    return found;
  };

  // In words, what lies outside the table; nothing where all is inside.
  explorer.beyond = function (setting) {
    const outside = (name, letter, where) => {
      const [low, high] = explorer.range(name, setting), value = setting[name];
      if (value >= low && value <= high) return [];
      return [`${letter} = ${value} is outside the table, which has ${letter} from ${Math.ceil(low)} to ${Math.floor(high)}${where}`];
    };
    if (setting.learner === "trained" && setting.width !== null) return "Training to the end is predicted without an MLP only.";
    const known = outside("vocab", "V", "").length ? ["vocab", "seq_len", "dim"] : explorer.SIZES; // the range of N goes with V
    const words = known.flatMap((name) => outside(name, LETTERS[name], ""));
    if (setting.width !== null && !words.length) words.push(...outside("width", "m", " at this d"));
    return words.length ? `${words.join("; ")}. The code in "The same in Python" asks the package itself.` : "";
  };

  // -- Predictions -----------------------------------------------------------------------------------

  const WORTH = 0.01; // where no removal gains so much, to name the best of them would say nothing
  explorer.decides = ({ accuracy, without }) => without - accuracy >= WORTH;

  // A share as a reader sees it: one below the page's accuracy never rounds up to that.
  explorer.share = function (value, digits = 2) {
    const { accuracy } = explorer.data, text = value.toFixed(digits);
    return value < accuracy && Number(text) >= accuracy ? (accuracy - 10 ** -digits).toFixed(digits) : text;
  };

  // The shares of a prediction as words: accuracy alone decides whether the others may round up to it, too.
  explorer.shares = function (found, digits = 2) {
    const reached = found.accuracy >= explorer.data.accuracy;
    return Object.fromEntries(["accuracy", "lock_on", "recall"].map((name) =>
      [name, reached ? found[name].toFixed(digits) : explorer.share(found[name], digits)]));
  };

  const unlog = explorer.unlog = (y) => -Math.expm1(-Math.exp(y)); // inverse of log(-log(1 - p))

  // With an MLP lock-on has a table of its own, and so has the recall of one token alone. Of recall in longer sequences the
  // middle is taken: as if all facts were located equally often, and as if some were never.
  function withNeurons(tables, { width, activation, ...setting }, share) {
    const sizes = { ...setting, ratio: width / setting.dim, share };
    const lock_on = unlog(explorer.interpolate(tables[`lock ${activation}`], sizes).lock_on);
    const alone = unlog(explorer.interpolate(tables[`recall ${activation}`], { ...sizes, share: share * lock_on }).recall);
    return { accuracy: lock_on * alone, lock_on, recall: Math.sqrt(lock_on) * alone, phase: null, without: null };
  }

  // Predictions at sizes inside the table; `phase` is null where the table does not know what binds.
  explorer.predict = (setting) => named(lucky(tabulated(setting), setting), setting);

  // The tables of three steps have no luck: where attention fails, one answer in V is right.
  function lucky(found, { vocab, learner }) {
    if (learner === "trained") return found;
    const luck = (1 - found.lock_on) / vocab;
    return { ...found, accuracy: found.accuracy + luck, without: found.without === null ? null : found.without + luck };
  }

  function tabulated(setting) {
    if (setting.learner === "trained") return explorer.predictTrained(setting);
    const tables = explorer.tables[Number(setting.trigger_in_values)], share = setting.samples / setting.vocab;
    if (setting.width !== null) return withNeurons(tables, setting, share);
    const main = explorer.interpolate(tables.main, { ...setting, share });
    // The table holds lock-on, answers where it locked on, and recall less what lock-on gives.
    const lockOn = unlog(main.lock_on);
    const recall = unlog(main.recalled + Math.log(lockOn)); // in no prediction below accuracy
    const found = { accuracy: Math.min(lockOn * unlog(main.answered), recall), lock_on: lockOn, recall };
    const gains = Object.entries(explorer.interpolate(tables.without, { ...setting, share }));
    const [phase, gain] = gains.reduce((best, next) => (next[1] > best[1] ? next : best));
    return { ...found, phase, without: unlog(Math.log(-Math.log1p(-found.accuracy)) + gain) };
  }

  // A prediction with the region of the map that it lies in.
  function named(found, setting) {
    if (found.accuracy >= explorer.data.accuracy) return { ...found, region: "solved" };
    if (found.phase !== null) return { ...found, region: explorer.decides(found) ? found.phase : "nothing alone" };
    const losses = Object.entries(fates(found, setting));
    return { ...found, region: losses.reduce((worst, next) => (next[1] > worst[1] ? next : worst))[0] };
  }

  // What becomes of the facts that are lost, as shares: no sequence showed it, attention misses it, or it drowns.
  function fates({ accuracy, lock_on }, { samples, vocab }) {
    const seen = -Math.expm1(-samples / vocab);
    return { "not seen": 1 - seen, "not located": seen * (1 - lock_on), drowned: seen * lock_on - accuracy };
  }

  // -- Noises ----------------------------------------------------------------------------------------

  explorer.ledgerOf = function ({ vocab, seq_len, dim, samples, trigger_in_values }) {
    const sizes = { V: vocab, L: seq_len, d: dim, N: samples, tau: Number(trigger_in_values) };
    const later = explorer.data.recall_terms;
    return Object.entries(explorer.ledger).map(([name, size]) => ({
      name, size: size(sizes), stage: name === "coverage" ? "coverage" : later.includes(name) ? "recall" : "lock-on",
    }));
  };

  // The logits of one question, in units of the right one of a fact seen as often as the average of those seen: how far
  // wrong ones scatter, what the largest of them exceeds half of the time, and the right one of a fact seen once.
  explorer.logitsOf = function (setting) {
    const noises = explorer.ledgerOf(setting).filter(({ stage }) => stage === "recall");
    const share = setting.samples / setting.vocab, seen = -Math.expm1(-share);
    const spread = seen * Math.sqrt(noises.reduce((sum, { size }) => sum + size, 0));
    return { spread, reach: spread * explorer.quantile(0.5 ** (1 / (setting.vocab - 1))), once: seen / share };
  };

  // The quantile of the standard normal law, by bisection of Abramowitz and Stegun's 7.1.26 for its distribution function.
  explorer.quantile = (share) => explorer.bisect(0, 16, (x) => normal(x - 8) >= share) - 8;

  explorer.normal = normal;

  function normal(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x) / Math.SQRT2);
    const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * Math.exp(-x * x / 2) / 2;
    return x > 0 ? 1 - tail : tail;
  }

  // -- Searches --------------------------------------------------------------------------------------

  // The number at which a rising function reaches a level, to a part in a million.
  explorer.bisect = function (low, high, reached) {
    while (high > low * (1 + 1e-6) + 1e-9) {
      const middle = (low + high) / 2;
      if (reached(middle)) high = middle;
      else low = middle;
    }
    return high;
  };

  // Evenly in the logarithm from low to high, both included.
  function spaced(low, high, count) {
    return Array.from({ length: count }, (_, i) => low * (high / low) ** (i / (count - 1)));
  }

  explorer.curve = function (setting) {
    const [low, high] = explorer.range("samples", setting);
    return spaced(low, high, 97).map((samples) => ({ samples, ...explorer.predict({ ...setting, samples }) }));
  };

  const STEEP = 4, LEVEL = 0.45; // powers of d between which a line slopes
  const NEAR = 1.1; // a factor in sequences that makes no difference

  const reaches = (setting) => explorer.predict(setting).accuracy >= explorer.data.accuracy;

  // The smallest number of sequences with the page's accuracy, as rb.critical_samples; Infinity where there is none.
  explorer.critical = function (setting) {
    const [low, high] = explorer.range("samples", setting), reached = (samples) => reaches({ ...setting, samples });
    const steps = spaced(low, high, 49), first = steps.findIndex(reached);
    if (first < 0) return Infinity;
    return first === 0 ? low : explorer.bisect(steps[first - 1], steps[first], reached);
  };

  // Cells of the map: their edges, and the region in the middle.
  explorer.map = function (setting, cells) {
    const dims = spaced(...explorer.range("dim"), cells + 1), samples = spaced(...explorer.range("samples", setting), cells + 1);
    const found = [];
    for (let i = 0; i < cells; i++) {
      for (let j = 0; j < cells; j++) {
        const middle = { ...setting, dim: Math.sqrt(dims[i] * dims[i + 1]), samples: Math.sqrt(samples[j] * samples[j + 1]) };
        if (setting.width !== null && explorer.beyond(middle)) continue; // so many neurons are too many or too few there
        const { accuracy, region } = explorer.predict(middle);
        found.push({ i, j, dim1: dims[i], dim2: dims[i + 1], samples1: samples[j], samples2: samples[j + 1], accuracy, region });
      }
    }
    return found;
  };

  // The line of the page's accuracy, by d. Where no N does at the smallest d, it comes down from the d at which the largest
  // N does. Its pieces have names: steep is the wall, flat and near what coverage asks for the floor. Between them lie the shoulder,
  // where the shortest sequences need as many, and right of it the slope, where they need fewer.
  explorer.level = function (setting, count) {
    const all = spaced(...explorer.range("dim"), count).map((dim) => ({ ...setting, dim }))
      .filter((at) => setting.width === null || !explorer.beyond(at));
    const point = (at) => ({ dim: at.dim, samples: explorer.critical(at) }), high = explorer.range("samples", setting)[1];
    const line = all.map(point), first = line.findIndex(({ samples }) => Number.isFinite(samples));
    const start = [];
    if (first > 0) {
      const dim = explorer.bisect(line[first - 1].dim, line[first].dim, (d) => reaches({ ...setting, dim: d, samples: high }));
      start.push({ dim, samples: high }, ...spaced(dim, line[first].dim, 6).slice(1, -1).map((d) => point({ ...setting, dim: d })));
    }
    const drawn = [...start, ...line].filter(({ samples }) => Number.isFinite(samples)), floor = NEAR * explorer.necessary(setting);
    const [shortest] = explorer.range("seq_len");
    let sloped = false;
    return drawn.map((at, i) => {
      const before = drawn[Math.max(0, i - 1)], after = drawn[Math.min(drawn.length - 1, i + 1)];
      const fall = Math.log(before.samples / after.samples) / Math.log(after.dim / before.dim);
      if (fall > STEEP) return { ...at, piece: "wall" };
      if (fall <= LEVEL) return { ...at, piece: at.samples < floor ? "floor" : null };
      const long = at.samples > NEAR * explorer.critical({ ...setting, dim: at.dim, seq_len: shortest });
      sloped ||= long;
      return { ...at, piece: long ? "slope" : sloped ? null : "shoulder" };
    });
  };
})((window.explorer = window.explorer || {}));
