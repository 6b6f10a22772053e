// Exercises that take an answer: numbers, each in its form, or a choice. A right one opens the solution.
// Read and judged as by `check` of recallbook_studies/answers.py in the notebook, name by name; a test compares the two.
const SAME = [[/\s+/g, ' '], [/[−–]/g, '-'], [/[×·]|(?<=\d) x (?=\d)/g, '*'], [/\^/g, '**'], [/%|\bper ?cent\b/g, '/100'], [/[≈~]|\w+ ?=/g, ''],
  [/\b(?:about|a|by|factor|of|bits?|nats?|facts?|sequences|steps?|times|tokens?|dimensions|per)\b/g, ''], [/\bln\b/g, 'log'], [/^ +|[. ]+$/g, '']];
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/g, THOUSANDS = /(?<![\d.])[1-9]\d{0,2}(?:[,_']\d{3})+(?!\d)/g;
const FORMULA = /^(?!.*(?:\/ *[/*]|--|\+\+|[\d.)] *\())(?!.{99})(?:[\d.()*/+ -]|exp|sqrt|log|pi|e)+$/;
const HOW = 'Write numbers as 0.5, 50 %, 1/2, 1500 or 1-1/e, and ; between several.';

function numbers(text) {
  const plain = SAME.reduce((now, [old, fresh]) => now.replace(old, fresh), text.toLowerCase());
  const formulas = [plain.replace(THOUSANDS, one => one.replace(/\D/g, '')), plain.replace(/(?<=\d),(?=\d)/g, '.')];
  return [...new Set(formulas.map(formula => {
    try {
      return FORMULA.test(formula) && Function(`"use strict"; const {exp, sqrt, log, PI: pi, E: e} = Math; return ${formula.replace(NUMBER, Number)}`)();
    } catch { return NaN; }
  }))].filter(Number.isFinite);
}

const plainly = text => text.toLowerCase().replace(/[\^.\s]/g, '').replace('²', '2');

function meanings(said, form) {
  if (form.startsWith('to ')) return numbers(said);
  const choices = form.split(' or '), same = choices.filter(one => plainly(one) === plainly(said));
  const found = same.length ? same : choices.filter(one => one.split(' ').map(plainly).includes(plainly(said)));
  return found.length === 1 ? found : [];
}

const agrees = (found, right, form) => [right].flat().some(one => found.includes(one) || form.startsWith('to ') &&
  found.some(value => Math.abs(value - one) <= numbers(form.slice(3))[0] * (form.includes('%') ? Math.abs(one) : 1) + 1e-9));
const wanted = parts => parts.map(([name, form]) => `${name} (${form})`).join('; ');

function judged(asks, answer, warm) {
  const text = answer.slice(0, 999).replace(/[\[\]]|tensor|array/g, '').replace(/^\s*\(([^()]*[,;][^()]*)\)\s*$/, '$1'), several = /;|\n|\band\b/;
  const ways = (several.test(text) ? [several] : [several, /,\s+/, /,\s*/]).map(cut => text.split(cut).filter(part => part.trim()).join('\n'));
  const read = [];
  for (const way of [...new Set(ways)].map(one => one.split('\n')).filter(one => one.length === 1 || one.length === asks.length).sort((a, b) => b.length - a.length)) {
    const alone = way.length < asks.length, said = asks.map(([, form], i) => meanings(way[alone ? 0 : i], form));
    if (alone ? !said.some(one => one.length) : said.some(one => !one.length)) continue;
    const hits = asks.filter(([, form, right], i) => agrees(said[i], right, form));
    if (hits.length >= (alone ? 1 : asks.length)) return `Right: ${hits.map(([name]) => name).join('; ')}.`;
    read.push({alone, said, hits});
  }
  if (read.length !== 1 || read[0].said.some(one => one.length > 1)) return `This cannot be read as ${wanted(asks)}, or is read in two ways. ${HOW}`;
  const [{alone, said, hits}] = read;
  const side = (right, values) => warm && !alone ? `, too ${Math.max(...values) < [right].flat()[0] ? 'low' : 'high'}` : '';
  const told = asks.map(([name, form, right], i) => [name, form + side(right, said[i])]).filter((_, i) => !hits.includes(asks[i]));
  return `Not so: ${wanted(told)}. Try again, or open the solution.`;
}

function solutionOf(exercise) {
  return [...document.querySelectorAll('.solution')]
    .find(solution => solution.querySelector(`.admonition-title a[href$="#${exercise}"]`));
}

addEventListener('DOMContentLoaded', () => {
  for (const form of document.querySelectorAll('form.answer')) {
    const entry = form.querySelector('input, select'), asks = JSON.parse(form.dataset.asks);
    form.hidden = false;
    form.addEventListener('submit', event => {
      event.preventDefault();
      const said = judged(asks, entry.value, 'warm' in form.dataset), right = said.startsWith('Right');
      form.querySelector('[role=status]').textContent = said;
      form.classList.toggle('right', right);
      if (right) solutionOf(form.dataset.exercise)?.querySelector('.toggle-button.toggle-button-hidden')?.click();
    });
  }
});
