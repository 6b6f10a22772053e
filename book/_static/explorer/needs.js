// What is necessary, what suffices, and where the theory itself is in doubt.
(function (explorer) {
  "use strict";

  // Whatever the method: so many facts must have been seen at the page's accuracy.
  explorer.necessary = function ({ vocab: V }) {
    return Math.max(0, explorer.needs.coverage({ V, unseen: (1 - explorer.data.accuracy) * V + 1 }));
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
      { name: "attention", samples: explorer.needs.attention({ L: setting.seq_len, d: setting.dim }),
        words: "locks on in two thirds at the best V, which is d; leading order" },
      { name: "critical", samples: critical,
        words: critical === Infinity ? `no N of the table has a predicted accuracy of ${share}` : `predicted accuracy ${share}` },
      { name: "sufficient", samples: proved ? proved.sufficient : Infinity,
        words: proved ? "proved, by certificates"
          : "no certificate in the book at these sizes; rb.sufficient_samples looks for one, in minutes" },
    ];
    const ofThreeSteps = ["attention", "sufficient"];
    return found.filter(({ name }) => setting.learner !== "trained" || !ofThreeSteps.includes(name));
  };

  // -- How far predictions are typically off: recallbook_theory/expected_errors.py --------------------

  explorer.expectedErrors = function (setting, outcomes, more = {}) {
    const { weights, shapes, vocabs, dims, ratios, few } = explorer.data.expected, log = Math.log, found = {};
    const clipped = (size, [low, high]) => log(Math.min(Math.max(size, low), high));
    const V = clipped(setting.vocab, vocabs), d = clipped(setting.dim, dims), L = Math.min(log(setting.seq_len), V + log(1.2));
    const m = log(setting.width ?? 1), mlp = setting.width !== null;
    const scatter = (share) => log(share * (1 - share) + 1e-3) / 2;
    const kind = setting.learner === "trained" ? "trained" : mlp ? "MLP" : "plain";
    for (const [name, features] of Object.entries(weights[kind])) {
      const [own, lock] = [outcomes[name], outcomes.lock_on].map((share) => Math.min(Math.max(share, 0), 1));
      const given = {
        1: 1, V, d, L, m, own, lock, "N/V": clipped(setting.samples / setting.vocab, ratios), tau: setting.trigger_in_values ? 1 : 0,
        "L/V": Math.max(L - V, -3), lengths: Math.sqrt(2 / setting.dim), "few tokens": Math.min(V, log(few[0])),
        "few dimensions": Math.min(d, log(few[1])), alone: setting.seq_len === 1 ? 1 : 0, narrow: Math.min(m - log(setting.dim), 0),
        "scatter own": scatter(own), "scatter lock": scatter(lock), ...shapes[setting.activation], ...more,
      };
      const value = (feature) => feature.split(" * ").reduce((product, one) => product * given[one], 1);
      found[name] = Math.exp(Object.entries(features).reduce((sum, [feature, weight]) => sum + weight * value(feature), 0));
    }
    return found;
  };

  // In words, where the predictor itself is in doubt.
  explorer.doubts = function (setting, outcomes) {
    if (setting.learner === "trained") return explorer.trainedDoubts(setting, outcomes);
    const large = Object.entries(explorer.expectedErrors(setting, outcomes)).filter(([, size]) => size > explorer.data.expected.large);
    const said = large.map(([name, size]) => `${name.replace("_", "-")} is typically off by ${size.toFixed(2)}`);
    if (2 * setting.samples < setting.vocab) said.push(`N = ${setting.samples} is below half of V, beyond the settings where predictions were checked`);
    return said.length ? `The prediction is in doubt: ${said.join("; ")}.` : "";
  };
})((window.explorer = window.explorer || {}));
