// The figure of chapter 3: four cards, one before training and one after each step, drawn for a draw, a number
// of sequences and a question. They open one after another, each after a guess.
(() => {
  const place = document.getElementById('stepper');
  if (!place) return;
  const SIZES = [8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512], {V, L} = STEPPER_DRAWS.sizes;
  const state = {stage: 0, seed: 0, question: 0, samples: 256, trigger: false};
  const letter = token => String.fromCharCode(65 + token), small = token => letter(token).toLowerCase();
  const PITCH = 10.4, LEFT = 13;
  const svg = (height, label, inner) => `<svg viewBox="0 0 180 ${height}" role="img" aria-label="${label}">${inner}</svg>`;
  const text = (x, y, words, more = '') => `<text x="${x}" y="${y}" ${more}>${words}</text>`;
  const bar = (x, width, base, height, kind) => `<rect class="${kind}" x="${x}" y="${base - Math.max(height, 0)}" width="${width}" height="${Math.abs(height)}"/>`;

  function attentionPicture(question, weights) {
    const said = weights.map((a, j) => a > 0 ? `${letter(question.tokens[j])}${j === question.position ? ' with the trigger' : ''} ${a.toFixed(2)}` : '').filter(Boolean);
    return svg(66, `Attention weights: ${said.join(', ')}`, weights.map((a, j) => {
      const marked = j === question.position;
      return bar(5 + 22 * j, 16, 48, 34 * a, 'attention')
        + text(13 + 22 * j, 62, letter(question.tokens[j]) + (marked ? '*' : ''), `class="${marked ? 'mark' : ''}" text-anchor="middle"`);
    }).join('') + `<path class="axis" d="M2 48H178"/>` + text(2, 11, 'attention'));
  }

  function tablePicture(p, table, unit, asked, share) { // rows: labels in the order of their tokens
    let inner = '', first = '';
    for (let v = 0; v < V; v++) {
      const column = p.facts.map(k => table[k][v] * unit);
      const most = Math.max(...column);
      if (most) first += `<rect class="largest" x="${LEFT + PITCH * v + 0.5}" y="${15 + PITCH * column.indexOf(most) + 0.5}" width="${PITCH - 1}" height="${PITCH - 1}"/>`;
      column.forEach((x, k) => { if (x) inner += `<rect class="${x > 0 ? 'plus' : 'minus'}" fill-opacity="${Math.min(1, Math.abs(x) / 1.5).toFixed(2)}" x="${LEFT + PITCH * v}" y="${15 + PITCH * k}" width="${PITCH - 0.5}" height="${PITCH - 0.5}"/>`; });
      inner += text(LEFT + PITCH * (v + 0.5), 11, letter(v), 'text-anchor="middle"') + text(6, 23.5 + PITCH * v, small(v), 'text-anchor="middle"');
    }
    const frame = `<rect class="frame" x="${LEFT}" y="15" width="${PITCH * V}" height="${PITCH * V}"/><rect class="frame asked" x="${LEFT + PITCH * asked}" y="15" width="${PITCH}" height="${PITCH * V}"/>`;
    return svg(186, `Stored table: logit of each label for each of ${V} tokens. The right label is the largest for ${Math.round(share * V)} of them.`, inner + first + frame);
  }

  function scorePicture(p, w, asked) {
    const plain = STEPS.times(p.Z, w), added = STEPS.dot(p.mark, w);
    const every = [...plain, ...plain.map(x => x + added)], low = Math.min(...every), high = Math.max(...every);
    const x = score => 12 + 156 * (score - low) / (high - low);
    const dots = (shift, y, kind) => plain.map((score, v) => `<circle class="${kind}${v === asked && shift ? ' asked' : ''}" cx="${x(score + shift).toFixed(1)}" cy="${y + 9 * (v % 4)}" r="4"/>`).join('');
    return svg(186, `Scores of the ${V} tokens, without the trigger and with it. The trigger adds ${(added / (Math.max(...plain) - Math.min(...plain))).toFixed(2)} times the range of the scores.`,
      text(2, 38, 'without the trigger') + dots(0, 52, 'plain') + text(2, 108, 'with the trigger', 'class="mark"') + dots(added, 122, 'marked')
      + `<path class="axis" d="M4 166H174l-5-3m5 3l-5 3"/>` + text(176, 181, 'attention score', 'text-anchor="end"')
      + `<path class="highest" d="M${x(Math.max(...plain)).toFixed(1)} 44V166"/>`);
  }

  function logitPicture(p, found, label, shares) {
    const ordered = p.facts.map(k => found[k]), most = Math.max(...ordered.map(Math.abs)) || 1;
    const token = p.facts.indexOf(label), won = p.facts.map(k => shares[k] > 0);
    const answers = won.every(Boolean) ? 'none: all are equal' : won.map((one, v) => one ? small(v) : '').join('');
    const bars = ordered.map((x, v) => bar(LEFT + PITCH * v, PITCH - 1.5, 43, 25 * x / most, v === token ? 'logit right' : won[v] && most !== 1 ? 'logit first' : 'logit')
      + text(LEFT + PITCH * (v + 0.45), 81, small(v), `class="${v === token ? 'recall' : ''}" text-anchor="middle"`)).join('');
    return svg(84, `Logits of the ${V} labels. Answer: ${answers}; right is ${small(token)}.`,
      bars + `<path class="axis" d="M${LEFT} 43H178"/>` + text(2, 11, `logits, answer ${answers.length > 1 ? 'none' : answers}${shares[label] === 1 ? ' ✓' : ''}`));
  }

  function draw() {
    const p = STEPS.problem(STEPPER_DRAWS, state.seed, state.trigger), steps = STEPS.three(p, state.samples);
    const outcome = STEPS.evaluate(p, steps), question = p.fresh[state.question];
    const asked = question.tokens[question.position], nothing = steps.value1.map(row => row.map(() => 0));
    const before = STEPS.even(p), after = STEPS.attention(p, question, steps.w);
    const facts = share => `${Math.round(share * V * 10) / 10} of ${V}`, percent = share => `${Math.round(100 * share)}\u00a0%`;
    const stages = [
      [nothing, before, 'All weights are zero. Attention is the same everywhere, and so are all logits.'],
      [steps.value1, before, `<i>W</i><sub>V</sub> stores every fact, blurred: all ${L} tokens were read alike. The right label wins for ${facts(STEPS.recall(p, steps.value1))} tokens.`],
      [steps.value1, after, `<i>W</i><sub>KQ</sub> learns the trigger from that memory. Attention finds the marked token in ${percent(outcome.lock_on)} of ${p.fresh.length} fresh sequences (lock-on).`],
      [steps.value2, after, `<i>W</i><sub>V</sub> reads again, through attention. The right label wins for ${facts(outcome.recall)} tokens (recall); ${percent(outcome.accuracy)} of the sequences are answered (accuracy).`],
    ];
    cards.forEach((card, stage) => {
      const [value, weights, words] = stages[stage], h = STEPS.read(p, question, weights);
      const table = () => {
        const rows = p.U.map(() => []);
        for (const z of p.Z) STEPS.logits(p, value, z.map((x, i) => x + p.tau * p.mark[i])).forEach((x, k) => rows[k].push(x));
        return tablePicture(p, rows, stage < 3 ? V * L : V, asked, stage ? STEPS.recall(p, value) : 0);
      };
      card.querySelector('.pictures').innerHTML = attentionPicture(question, weights) + (stage === 2 ? scorePicture(p, steps.w, asked) : table())
        + logitPicture(p, STEPS.logits(p, value, h), question.label, STEPS.answer(p, value, h));
      card.querySelector('p:not(.guess)').innerHTML = words;
      card.classList.toggle('later', stage > state.stage);
      if (stage === state.stage) card.setAttribute('aria-current', 'step'); else card.removeAttribute('aria-current');
    });
    place.querySelector('.size').textContent = state.samples;
    place.querySelector('input[type=range]').setAttribute('aria-valuetext', `${state.samples} sequences`);
    place.querySelector('[name=back]').disabled = state.stage === 0;
    place.querySelector('[name=next]').textContent = state.stage === 3 ? 'From zero' : 'Next step';
    guess.textContent = GUESSES[state.stage] ?? '';
    cards[Math.min(state.stage + 1, 3)].append(guess); // in the card that opens next
    place.querySelector('.asks').textContent = `Question: ${question.tokens.map((token, j) => letter(token) + (j === question.position ? '*' : '')).join(' ')}, right answer ${small(asked)}. Draw ${state.seed + 1} of ${STEPPER_DRAWS.draws.length}.`;
    return stages[state.stage][2];
  }

  const GUESSES = [
    'Guess: all tokens of a sequence are read alike. Can the first step store anything?',
    'Guess: the table is blurred. Is it good enough to tell attention where to look?',
    'Guess: the table is written once more, now read through attention. For how many tokens will the right label win?',
  ];
  const TITLES = ['Before', '1. Store', '2. Locate', '3. Store again'];
  place.innerHTML = `
    <div class="controls main">
      <button type="button" name="back">Back</button><button type="button" name="next">Next step</button>
      <label>Sequences <i>N</i> = <span class="size">256</span><input type="range" name="samples" min="0" max="${SIZES.length - 1}" step="1" value="${SIZES.indexOf(state.samples)}"></label>
    </div>
    <div class="controls">
      <button type="button" name="draw">Another draw</button><button type="button" name="question">Another question</button>
      <label><input type="checkbox" name="trigger"> trigger in the values</label>
    </div>
    <p class="asks"></p>
    <ol>${TITLES.map(title => `<li><h3>${title}</h3><div class="pictures"></div><p></p></li>`).join('')}</ol>
    <p class="said" role="status"></p>`;
  const guess = Object.assign(document.createElement('p'), {className: 'guess'});
  const cards = [...place.querySelectorAll('li')], said = place.querySelector('.said');
  const say = words => { said.innerHTML = `${TITLES[state.stage]}: ${words}`; };
  const turn = {
    back: () => { state.stage = Math.max(state.stage - 1, 0); },
    next: () => { state.stage = (state.stage + 1) % 4; },
    draw: () => { state.seed = (state.seed + 1) % STEPPER_DRAWS.draws.length; },
    question: () => { state.question = (state.question + 1) % (STEPPER_DRAWS.draws[0].freshPositions.length); },
  };
  place.addEventListener('click', event => {
    const act = turn[event.target.name];
    if (act) { act(); say(draw()); }
  });
  place.addEventListener('input', event => {
    if (event.target.name === 'samples') state.samples = SIZES[event.target.value];
    if (event.target.name === 'trigger') state.trigger = event.target.checked;
    say(draw());
  });
  draw();
  document.querySelector('.stepper-text').hidden = true;
  place.hidden = false;
})();
