// What an MLP changes. Lock-on has a table of its own; recall follows from it and from the noise of stored facts, which a
// table of one token gives (recallbook_studies/explorer/stored.py has the same formula where attention always locates).
(function (explorer) {
  "use strict";

  const { normal } = explorer;

  // Points on a normal law, in standard deviations, and their weights.
  function points(step, last) {
    const at = Array.from({ length: 2 * Math.round(last / step) + 1 }, (_, i) => i * step - last);
    const heights = at.map((x) => Math.exp(-x * x / 2)), whole = heights.reduce((sum, height) => sum + height);
    return at.map((x, i) => [x, heights[i] / whole]);
  }

  const DRAWS = points(1, 3), TOKENS = points(0.5, 3.5), SCATTER = points(0.5, 6);
  const LOW = -9, HIGH = 14, STEP = 0.05; // margins of the right logit, in standard deviations
  const MANY = 10; // counts are normal above it

  let known = { vocab: null };

  // Chances at margins a step apart that the right logit is the largest.
  function wins(vocab) {
    if (known.vocab !== vocab) {
      const chance = (margin) => SCATTER.reduce((sum, [x, weight]) => sum + weight * normal(margin + x) ** (vocab - 1), 0);
      known = { vocab, chances: Float64Array.from({ length: (HIGH - LOW) / STEP + 2 }, (_, i) => chance(LOW + STEP * i)) };
    }
    return known.chances;
  }

  function at(chances, margin) {
    const place = Math.min(Math.max((margin - LOW) / STEP, 0), chances.length - 2), i = Math.floor(place);
    return chances[i] + (place - i) * (chances[i + 1] - chances[i]);
  }

  // The mean of a function of how often a fact was located.
  function overCounts(mean, value) {
    let sum = 0;
    if (mean > MANY) {
      for (const [x, weight] of TOKENS) sum += weight * value(Math.max(0, mean + Math.sqrt(mean) * x));
      return sum;
    }
    const last = mean + 6 * Math.sqrt(mean) + 6;
    for (let n = 0, chance = Math.exp(-mean); n < last; n++, chance *= mean / n) sum += chance * value(n);
    return sum;
  }

  // Where attention locks on so often: for each draw of embeddings its weight and how likely each token is to be located.
  // Scores of tokens are normal, the score of the trigger moves with the draw, and only distinct tokens compete.
  function located(lockOn, { vocab, seq_len, dim }) {
    const apart = Math.sqrt(2 / (1 + dim / vocab)), others = -vocab * Math.expm1((seq_len - 1) * Math.log1p(-1 / vocab));
    const all = (lead) => DRAWS.map(([z, weight]) => [weight, TOKENS.map(([x]) => normal(x + lead + apart * z) ** others)]);
    const mean = (draws) => draws.reduce((sum, [weight, tokens]) => sum + weight * meanOf(tokens), 0);
    return all(explorer.bisect(0, 30, (lead) => mean(all(lead - 10)) >= lockOn) - 10);
  }

  const meanOf = (values) => TOKENS.reduce((sum, [, weight], i) => sum + weight * values[i], 0);

  // A fact never located wins less often the more other facts are: their labels scatter further than its own (a factor
  // found by fitting).
  function guessed({ vocab, dim }, share, mean, square) {
    const none = Math.exp(-vocab * mean); // no fact is located at all
    return none + (1 - none) / (1 + (dim / vocab) * (square + mean) / (square + share));
  }

  explorer.withNeurons = function (tables, setting) {
    const { vocab, dim, samples, width, activation, trigger_in_values } = setting, share = samples / vocab;
    const value = (name, count) => explorer.interpolate(tables[`${name} ${activation}`], [dim, width / dim, count].map(Math.log));
    const lock_on = explorer.unlog(value("lock", share).lock_on);
    const noise = Math.exp(2 * value("stored", share * Math.sqrt(lock_on)).noise); // between how often a fact is seen and located
    const theta = explorer.data.shared[activation][Number(trigger_in_values)], chances = wins(vocab);
    let accuracy = 0, recall = 0;
    for (const [weight, tokens] of located(lock_on, setting)) {
      const mean = share * meanOf(tokens), square = share ** 2 * meanOf(tokens.map((token) => token ** 2));
      const scatter = Math.sqrt(noise * (square + share) + theta ** 2 * (1 + vocab / dim) * (square - mean ** 2 + mean));
      const guess = guessed(setting, share, mean, square);
      TOKENS.forEach(([, of], i) => {
        const found = overCounts(share * tokens[i], (n) => at(chances, (n - theta * mean) / scatter) * (n === 0 ? guess : 1));
        recall += weight * of * found;
        accuracy += weight * of * tokens[i] * found;
      });
    }
    return { accuracy, lock_on, recall };
  };
})((window.explorer = window.explorer || {}));
