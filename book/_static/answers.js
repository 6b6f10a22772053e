// Exercises that take an answer: a number within a tolerance, or a choice. A right one opens the solution.
function parsed(text) {
  const plain = text.trim().replace(/[−–]/g, '-').replace(/^(-?\d{1,3})(?:[,\s](\d{3}))+$/, whole => whole.replace(/[,\s]/g, '')).replace(',', '.');
  const [, top, below, percent] = /^(-?[\d.]+(?:e-?\d+)?)(?:\/([\d.]+))?\s*(%?)$/i.exec(plain) ?? [];
  return top === undefined ? NaN : top / (below ?? 1) / (percent ? 100 : 1);
}

function solutionOf(exercise) {
  return [...document.querySelectorAll('.solution')]
    .find(solution => solution.querySelector(`.admonition-title a[href$="#${exercise}"]`));
}

addEventListener('DOMContentLoaded', () => {
  for (const form of document.querySelectorAll('form.answer')) {
    const entry = form.querySelector('input, select'), status = form.querySelector('[role=status]');
    const {right, within, exercise} = form.dataset;
    form.hidden = false;
    form.addEventListener('submit', event => {
      event.preventDefault();
      const given = within === undefined ? entry.value : parsed(entry.value);
      const known = within === undefined ? given !== '' : !Number.isNaN(given);
      const found = within === undefined ? given === right : Math.abs(given - right) <= within * (1 + 1e-9);
      form.classList.toggle('right', known && found);
      if (!known) status.textContent = within === undefined ? 'Choose one first.' : 'Type a number first.';
      else if (!found) status.textContent = within > 0 ? `Not within ${within} of it. Try again, or open the solution.` : 'Not so. Try again, or open the solution.';
      else {
        status.textContent = within > 0 ? `Right: ${Number(right).toPrecision(3).replace(/\.?0+$/, '')}, computed by the cell below.` : 'Right.';
        solutionOf(exercise)?.querySelector('.toggle-button.toggle-button-hidden')?.click();
      }
    });
  }
});
