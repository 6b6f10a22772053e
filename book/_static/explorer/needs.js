// What is necessary, what suffices, and where the theory itself is in doubt.
(function (explorer) {
  "use strict";

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
    return Math.max(explorer.bisect(0, rows, enough), covered);
  };

  // A number that was proved to suffice at these very sizes, if the book has one.
  explorer.sufficient = function (setting) {
    if (setting.width !== null) return null;
    return explorer.data.sufficient.find((row) => ["vocab", "seq_len", "dim", "trigger_in_values"]
      .every((name) => row[name] === setting[name])) ?? null;
  };

  // Numbers of sequences to mark on the curve.
  explorer.marks = function (setting) {
    const critical = explorer.critical(setting), proved = explorer.sufficient(setting);
    const share = explorer.data.accuracy;
    const found = [
      { name: "necessary", samples: explorer.necessary(setting),
        words: "proved, for every method: coverage" },
      { name: "one gradient", samples: explorer.oneGradient(setting), aside: true, // no bound for this learner: in words only
        words: "proved, for methods that read only the first gradient, with as much noise added; no bound for three steps, which look twice" },
      { name: "critical", samples: critical,
        words: critical === Infinity ? `no N of the table has a predicted accuracy of ${share}` : `predicted accuracy ${share}` },
      { name: "sufficient", samples: proved ? proved.sufficient : Infinity,
        words: proved ? "proved, by certificates"
          : "no certificate in the book at these sizes; rb.sufficient_samples looks for one, in minutes" },
    ];
    return setting.learner === "trained" ? [found[0], found[2]] : found; // the others are about three steps
  };

  // -- Doubts: the conditions of recallbook/theory/doubts.py that sizes of this page can meet ----------

  const APPLIES = {
    "few sequences": (s) => 2 * s.samples < s.vocab && `N = ${s.samples} is below half of V`,
    "long sequences": (s) => s.seq_len > s.vocab && `L = ${s.seq_len} is above V`,
    "partial lock-on in long sequences": (s, lock, [low, high]) =>
      4 * s.seq_len > s.vocab && low < lock && lock < high && "lock-on is partial and L is above a quarter of V",
    "few tokens": (s) => s.vocab < explorer.data.fewest_tokens && `V = ${s.vocab} is below ${explorer.data.fewest_tokens}`,
    "curved activation": (s) => s.width !== null && explorer.data.curved.includes(s.activation) &&
      `${s.activation} has little linear part at unit variance`,
    "few neurons": (s) => s.width !== null && s.width < s.dim && s.seq_len > 1 && `m = ${s.width} is below d`,
  };

  // In words, where the predictor itself is in doubt, and by about how much it is then off.
  explorer.doubts = function (setting, lockOn) {
    if (setting.learner === "trained") return explorer.trainedDoubts(setting);
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
})((window.explorer = window.explorer || {}));
