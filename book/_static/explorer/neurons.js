// What an MLP changes: settings without one that are as noisy, and what its own tables add to them.
// The formulas are those of recallbook/theory/feature_kernels.py (near_zero) and recallbook_studies/explorer/stand_ins.py.
(function (explorer) {
  "use strict";

  const ORDER = 16; // of the series in the overlap
  const REACH = 10, STEP = 0.02; // of the quadrature, in standard deviations

  const density = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  const ACTIVATIONS = {
    relu: [(x) => Math.max(x, 0), (x) => (x > 0 ? 1 : x < 0 ? 0 : 0.5)],
    he3: [(x) => (x * x - 3) * x / Math.sqrt(6), (x) => (x * x - 1) * 3 / Math.sqrt(6)],
    gelu: [(x) => x * explorer.normal(x), (x) => explorer.normal(x) + x * density(x)],
  };

  // Hermite coefficients of an activation at a variance, and means of its square, slope squared and their product.
  function moments(activation, variance) {
    const [phi, slope] = ACTIVATIONS[activation], spread = Math.sqrt(variance);
    const found = { phi: new Float64Array(ORDER + 1), square: 0, slopes: 0, product: 0, growth: 0 };
    for (let x = -REACH; x <= REACH; x += STEP) {
      const point = Math.abs(x) < STEP / 2 ? 0 : x, weight = STEP * density(point), y = phi(spread * point), z = slope(spread * point);
      found.square += weight * y * y;
      found.slopes += weight * z * z;
      found.product += weight * y * z;
      found.growth += weight * y * z * point / spread;
      let [last, now] = [0, 1];
      for (let k = 0; k <= ORDER; k++) {
        found.phi[k] += weight * y * now;
        [last, now] = [now, (point * now - Math.sqrt(k) * last) / Math.sqrt(k + 1)];
      }
    }
    return found;
  }

  const kept = new Map();

  function remembered(key, make) {
    if (kept.size > 5000) kept.clear();
    if (!kept.has(key)) kept.set(key, make());
    return kept.get(key);
  }

  function series(first, second, overlap) {
    let sum = 0;
    for (let k = Math.min(first.length, second.length) - 1; k >= 0; k--) sum = sum * overlap + first[k] * second[k];
    return sum;
  }

  // What step 2 sees of the activation, by the symbols of the formulas.
  explorer.nearZero = function ({ activation, seq_len: L, vocab: V, dim, trigger_in_values }) {
    const tau = Number(trigger_in_values), scale = 1 + tau, shared = (1 - 1 / L) / V + tau / L ** 2;
    const a = (1 / L + shared) / scale, root = Math.sqrt(a);
    const of = remembered([activation, a].join(), () => moments(activation, a));
    const climb = (values) => Array.from(values).slice(1).map((value, k) => Math.sqrt(k + 1) * value / root);
    const slope = climb(of.phi), second = climb(slope);
    const other = shared / (a * scale), same = Math.min(1, (shared + 1 / L ** 2) / (a * scale));
    const jitter = Math.sqrt(1 / dim + 1 / V) / (L * scale * a), [angles, weights] = explorer.data.angles;
    const pairs = angles.map((angle) => series(slope, slope, Math.max(-1, Math.min(1, other + jitter * angle))));
    return {
      k_s: series(slope, slope, same), k_o: series(slope, slope, other), k_1: of.growth,
      k_2: pairs.reduce((sum, pair, i) => sum + weights[i] * pair * pair, 0),
      k_b: series(slope, slope, other) + series(second, of.phi, other),
      p_o: Math.sqrt(scale) * series(slope, of.phi, other), p_1: Math.sqrt(scale) * of.product, e: scale * of.slopes * of.square,
    };
  };

  // Where a falling noise meets its target, or the nearest end.
  function falling(noise, target, [low, high]) {
    for (let i = 0; i < 30; i++) {
      const middle = Math.sqrt(low * high);
      if (noise(middle) > target) low = middle;
      else high = middle;
    }
    return high;
  }

  const sizesOf = ({ vocab, seq_len, dim, samples, trigger_in_values }) =>
    ({ V: vocab, L: seq_len, d: dim, N: samples, tau: Number(trigger_in_values) });

  // So many sequences make lock-on as noisy without the MLP.
  explorer.samplesLike = function (setting) {
    const sizes = sizesOf(setting), { noises, data } = explorer, { vocab, seq_len, dim, activation, trigger_in_values } = setting;
    const key = [activation, vocab, seq_len, dim, trigger_in_values].join();
    const target = noises.lockMlp({ ...sizes, ...remembered(key, () => explorer.nearZero(setting)), epsilon: 1 / setting.width });
    return falling((N) => noises.lock({ ...sizes, N }), target, data.range.share.map((share) => share * vocab));
  };

  // Such a dimension makes recall as noisy without the MLP and with the trigger out of the values.
  explorer.dimLike = function (setting, overlaps) {
    const sizes = sizesOf(setting), { noises, data } = explorer;
    const target = noises.recallMlp({ ...sizes, J: Math.exp(overlaps.variance), theta2: Math.exp(overlaps.shared) });
    return falling((d) => noises.recall({ ...sizes, d }), target, data.range.dim);
  };

  // Recall of one token, which attention always locates.
  function recallAlone(tables, setting, overlaps) {
    const { dim, samples, vocab, width, activation } = setting, share = Math.log(samples / vocab);
    const like = Math.log(explorer.dimLike(setting, overlaps)), at = [Math.log(dim), Math.log(width / dim), share];
    return explorer.interpolate(tables[`neurons ${activation}`], at).change + explorer.interpolate(tables.like, [like, share]).recalled;
  }

  // Adds what an MLP changes to the table's predictions without one, whose table is cut at its V and L. Answers change as
  // those of one token do, with as many sequences as attention locates; recall is what it would be of one token, less the
  // share that is lost without an MLP where attention locates as often.
  explorer.addNeurons = function (main, tables, setting) {
    const { unlog, interpolate } = explorer, { vocab, dim, samples, width, activation } = setting;
    const d = Math.log(dim), ratio = Math.log(width / dim), share = Math.log(samples / vocab);
    const alone = (located) => interpolate(tables.alone, [d, located]).recalled;
    const located = Math.log(unlog(main.lock_on)), stand = Math.log(explorer.samplesLike(setting) / vocab);
    const like = interpolate(tables.main, [d, stand]), found = Math.log(unlog(like.lock_on));
    main.lock_on = like.lock_on + interpolate(tables[`lock ${activation}`], [d, ratio, share]).change;
    const now = Math.log(unlog(main.lock_on)), overlaps = interpolate(tables[`overlaps ${activation}`], [d, ratio]);
    const after = recallAlone(tables, { ...setting, samples: samples * Math.exp(now) }, overlaps);
    main.answered += after - alone(share + located);
    const kept = unlog(like.recalled + found) / unlog(alone(stand + found));
    main.recalled = Math.log(-Math.log1p(-Math.min(1 - 1e-9, unlog(after) * kept))) - now;
  };
})((window.explorer = window.explorer || {}));
