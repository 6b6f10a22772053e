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

  // In words, where it is in doubt, and by about how much it is then off.
  explorer.trainedDoubts = function (setting) {
    const load = explorer.loadOf(setting), { near, about, mapped } = explorer.data.trained, said = [];
    if (load > near) said.push(`facts are ${load.toFixed(1)} times what the matrix can hold`);
    if (setting.samples < 2 * setting.vocab) said.push(`N = ${setting.samples} is below 2V`);
    if (setting.seq_len > setting.vocab) said.push("L is above V");
    for (const [name, most] of Object.entries(mapped))
      if (setting[name] > most) said.push(`no runs were compared with ${{ vocab: "V", seq_len: "L" }[name]} above ${most}`);
    const sizes = Object.entries(about).map(([name, size]) => `${name.replace("_", "-")} by about ${size.toFixed(2)}`);
    return said.length ? `The prediction is in doubt: ${said.join("; ")}: off in ${sizes.join(", ")}.` : "";
  };
})((window.explorer = window.explorer || {}));
