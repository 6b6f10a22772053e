// Both matrices trained to the end: coverage times what a matrix holds, times lock-on. The formulas are those of
// recallbook_theory/trained.py; the share held beyond the largest load is in the committed table.
(function (explorer) {
  "use strict";

  const REACH = 8, STEP = 0.1; // of the quadrature, in standard deviations

  const density = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);

  // The key vector that tells the trigger best from what all tokens have in their scores.
  function lockOn({ vocab, dim, seq_len }) {
    if (seq_len === 1 || dim + 2 >= vocab) return 1;
    const signal = Math.sqrt(dim * vocab / (vocab - dim - 2));
    let sum = 0;
    for (let x = -REACH; x <= REACH; x += STEP) sum += STEP * density(x) * explorer.normal(signal + x) ** (seq_len - 1);
    return Math.min(1, sum);
  }

  const seen = ({ vocab, samples }) => -Math.expm1(samples * Math.log1p(-1 / vocab));
  const lacks = ({ vocab }) => explorer.interpolate(explorer.tables[0].lacks, { vocab });

  // Facts seen, in units of the largest number that some matrix holds.
  explorer.loadOf = (setting) => setting.vocab * seen(setting) * lacks(setting).mean / setting.dim ** 2;

  // The share of the facts seen that the best matrix answers.
  function held(setting) {
    const { vocab, dim, samples } = setting, facts = vocab * seen(setting), { mean, var: variance } = lacks(setting);
    const spread = Math.sqrt(facts * Math.max(variance - 2 * mean, 1e-9)), room = (dim ** 2 - facts * mean) / spread;
    const fits = explorer.normal(room);
    if (fits > 1 - 1e-3) return 1;
    const load = Math.max((facts * mean + spread * density(room) / (1 - fits)) / dim ** 2, 1.01);
    const found = explorer.interpolate(explorer.tables[0].held, { vocab, load, share: samples / vocab });
    return fits + (1 - fits) * explorer.unlog(found.recalled);
  }

  explorer.predictTrained = function (setting) {
    const lock_on = lockOn(setting), recall = seen(setting) * held(setting);
    return { accuracy: lock_on * recall, lock_on, recall, phase: null, without: null };
  };

  // In words, where accuracy or recall is typically off by much, and why.
  explorer.trainedDoubts = function (setting, outcomes) {
    const { large, most } = explorer.data.trained;
    const load = Math.log(Math.min(Math.max(explorer.loadOf(setting), 0.02), 20)), near = Math.exp(-2 * load ** 2);
    const { accuracy, recall } = explorer.expectedErrors(setting, outcomes, { load, near }), size = Math.max(accuracy, recall);
    if (size <= large) return "";
    const reason = near > 0.5 ? "near the load that the matrix can hold" : "few, long sequences are cheaper than facts";
    return `The prediction is in doubt: accuracy or recall is typically off by ${Math.min(size, most).toFixed(2)}, ${reason}.`;
  };
})((window.explorer = window.explorer || {}));
