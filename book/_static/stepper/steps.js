// The three gradient steps of `rb.three_steps` in the early-phase limit, Attention-only, and what
// `rb.evaluate` measures of them. Plain arrays; weights are per unit rate, as in the package.
const STEPS = (() => {
  const TOLERANCE = Number.EPSILON ** (2 / 3); // as recallbook/model/ties.py has it
  const dot = (a, b) => { let sum = 0; for (let i = 0; i < a.length; i++) sum += a[i] * b[i]; return sum; };
  const zeros = (rows, columns) => Array.from({length: rows}, () => new Array(columns).fill(0));
  const size = a => Math.sqrt(dot(a, a));
  const add = (a, factor, b) => { for (let i = 0; i < a.length; i++) a[i] += factor * b[i]; };
  const times = (rows, a) => rows.map(row => dot(row, a));
  const transposed = rows => rows[0].map((_, column) => rows.map(row => row[column]));
  const share = (values, slack) => { // equal shares where several tie for the largest
    const most = Math.max(...values) - slack, best = values.map(value => value >= most);
    const count = best.filter(Boolean).length;
    return best.map(one => one ? 1 / count : 0);
  };

  function problem({sizes, draws}, seed, trigger) {
    const {V, L, d} = sizes, draw = draws[seed], digits = text => [...text].map(letter => parseInt(letter, 36));
    const rows = (numbers, width) => Array.from({length: numbers.length / width}, (_, i) => numbers.slice(width * i, width * (i + 1)));
    const facts = digits(draw.facts);
    const sequences = (tokens, positions) => rows(digits(tokens), L).map((row, i) => {
      const position = digits(positions[i])[0];
      return {tokens: row, position, label: facts[row[position]]};
    });
    const U = rows(draw.U, d), mean = new Array(d).fill(0);
    for (const u of U) add(mean, 1 / V, u);
    return {
      sizes, facts, U, Z: rows(draw.Z, d), mark: draw.trigger, query: draw.query, tau: trigger ? 1 : 0,
      centred: U.map(u => u.map((value, i) => value - mean[i])),
      batch: sequences(draw.tokens, draw.positions), fresh: sequences(draw.freshTokens, draw.freshPositions),
    };
  }

  // h, the values averaged with these attention weights
  function read(p, sequence, weights) {
    const h = new Array(p.sizes.d).fill(0);
    sequence.tokens.forEach((token, j) => add(h, weights[j], p.Z[token]));
    add(h, p.tau * weights[sequence.position], p.mark);
    return h;
  }

  const even = p => new Array(p.sizes.L).fill(1 / p.sizes.L);
  const scores = (p, sequence, w) =>
    sequence.tokens.map((token, j) => dot(p.Z[token], w) + (j === sequence.position ? dot(p.mark, w) : 0));
  const attention = (p, sequence, w) =>
    share(scores(p, sequence, w), TOLERANCE * size(w) * (Math.max(...p.Z.map(size)) + size(p.mark)));

  // minus the gradient in W_V: the mean over sequences of centred label times what was read
  function stored(p, batch, weights) {
    const {V, d} = p.sizes, sums = zeros(V, d), value = zeros(d, d);
    for (const sequence of batch) add(sums[sequence.label], 1 / batch.length, read(p, sequence, weights(sequence)));
    for (let k = 0; k < V; k++) for (let i = 0; i < d; i++) add(value[i], p.centred[k][i], sums[k]);
    return value;
  }

  function three(p, samples) {
    const {L, d} = p.sizes, batch = p.batch.slice(0, samples);
    const value1 = stored(p, batch, () => even(p)); // step 1
    const pulls = p.centred.map(u => times(transposed(value1), u)), key = new Array(d).fill(0);
    for (const sequence of batch) { // step 2
      const {tokens, position, label} = sequence;
      const right = tokens.map((token, j) => dot(pulls[label], p.Z[token]) + (j === position ? p.tau * dot(pulls[label], p.mark) : 0));
      const mean = right.reduce((a, b) => a + b) / L;
      tokens.forEach((token, j) => add(key, (right[j] - mean) / (batch.length * L), p.Z[token]));
      add(key, (right[position] - mean) / (batch.length * L), p.mark);
    }
    const keyQuery = key.map(k => p.query.map(z => k * z)), w = times(keyQuery, p.query);
    return {value1, keyQuery, w, value2: stored(p, batch, sequence => attention(p, sequence, w))}; // step 3
  }

  const logits = (p, value, h) => times(p.U, times(value, h));
  const answer = (p, value, h) =>
    share(logits(p, value, h), TOLERANCE * Math.max(...p.U.map(size)) * Math.sqrt(value.reduce((sum, row) => sum + dot(row, row), 0)) * size(h));
  // the share of facts that this matrix answers when attention is exactly on the token
  const recall = (p, value) => p.Z.reduce((sum, z, v) =>
    sum + answer(p, value, z.map((x, i) => x + p.tau * p.mark[i]))[p.facts[v]], 0) / p.sizes.V;

  function evaluate(p, steps) {
    let right = 0, locked = 0;
    for (const sequence of p.fresh) {
      const weights = attention(p, sequence, steps.w);
      locked += weights[sequence.position];
      right += answer(p, steps.value2, read(p, sequence, weights))[sequence.label];
    }
    return {accuracy: right / p.fresh.length, lock_on: locked / p.fresh.length, recall: recall(p, steps.value2)};
  }

  return {problem, three, evaluate, recall, even, attention, scores, read, logits, answer, dot, times};
})();
