// Exercises that take an answer: numbers, each in its form, or a choice. A right one opens the solution.
// What counts as right is what `check` of recallbook_studies/answers.py says in the notebook.
function parsed(text) {
  const plain = text.trim().replace(/[−–]/g, '-').replace(/,(?=\d{3}\b)|\s/g, '').replace(',', '.');
  const [, top, below, percent] = /^(-?[\d.]+(?:e-?\d+)?)(?:\/([\d.]+))?(%?)$/i.exec(plain) ?? [];
  return top === undefined ? NaN : top / (below ?? 1) / (percent ? 100 : 1);
}

function agrees(said, [, form, right]) {
  if (!form.startsWith('to ')) return said === right;
  const near = parsed(form.slice(3)) * (form.includes('%') ? Math.abs(right) : 1);
  return Math.abs(parsed(said) - right) <= near + 1e-9;
}

function solutionOf(exercise) {
  return [...document.querySelectorAll('.solution')]
    .find(solution => solution.querySelector(`.admonition-title a[href$="#${exercise}"]`));
}

addEventListener('DOMContentLoaded', () => {
  for (const form of document.querySelectorAll('form.answer')) {
    const entry = form.querySelector('input, select'), status = form.querySelector('[role=status]');
    const asks = JSON.parse(form.dataset.asks), chosen = entry.matches('select');
    form.hidden = false;
    form.addEventListener('submit', event => {
      event.preventDefault();
      // 588; 1,513: where several are asked, a comma before three digits is part of a number
      const given = chosen || asks.length === 1 ? [entry.value] : entry.value.replace(/[\[\]()]/g, '').split(/;|,(?!\d{3}\b)/);
      const known = chosen ? entry.value !== '' : !given.some(said => Number.isNaN(parsed(said)));
      const told = asks.map((part, i) => ({part, said: given[given.length === 1 ? 0 : i] ?? ''}));
      const misses = told.filter(({part, said}) => !agrees(said, part));
      const found = given.length === 1 ? misses.length < asks.length : !misses.length && given.length === asks.length;
      form.classList.toggle('right', known && found);
      if (!known) status.textContent = chosen ? 'Choose one first.' : 'Type a number first.';
      else if (found) {
        const hits = told.filter(one => !misses.includes(one)).map(({part}) => part[0]);
        status.textContent = asks.length > 1 ? `Right: ${hits.join('; ')}.` : 'Right.';
        solutionOf(form.dataset.exercise)?.querySelector('.toggle-button.toggle-button-hidden')?.click();
      } else {
        const warm = (said, right) => 'warm' in form.dataset && given.length === asks.length ? `, too ${parsed(said) < right ? 'low' : 'high'}` : '';
        const named = misses.map(({part: [name, how, right], said}) => `${name} (${how}${warm(said, right)})`);
        status.textContent = `Not so${chosen ? '' : `: ${named.join('; ')}`}. Try again, or open the solution.`;
      }
    });
  }
});
