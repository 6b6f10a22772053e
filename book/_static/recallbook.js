// Nothing is cut: a formula wider than its column is set smaller, or in pieces; what is wide even then
// scrolls, within reach of the keyboard, and its edges say so (recallbook.css).
const SMALLEST = 0.75; // of the size of the text
const SCROLLING = '.bd-article :is(mjx-container[display="true"], .pieces, div.cell_output, div.output, [role="region"], pre, figure > a, .pst-scrollable-table-container)';
const RELATION = /^(?:[=<>]|\\(?:leq?|geq?|approx|sim|simeq|propto|to|mapsto|gtrsim|lesssim|ll|gg|equiv|iff|Longrightarrow|Rightarrow|neq?|le|ge))$/;
const OPERATOR = /^(?:[+\-]|\\(?:cdot|times|pm))$/;
const SPACE = /^\\(?:qquad|quad)$/;

// TeX cut after its outermost commas and wide spaces; from level 1 on before its outermost relations and operators, too, and
// at level 2 in brackets; those that grow become tall ones, because none may grow across a cut.
function pieces(tex, level) {
  const found = [''], inside = level === 2;
  let depth = 0, before = '', grown = [];
  const tokens = tex.match(/\\(?:begin|end)\{\w+\*?\}|\\(?:left|right)(?![A-Za-z])\s*(?:\\[A-Za-z]+|\\.|.)|\\[A-Za-z]+|\\.|\s+|[^\\]/g) ?? [];
  for (let token of tokens) {
    const side = /^\\(left|right)\s*(.*)$/.exec(token);
    if (side && inside) {
      if (side[1] === 'left') grown.push(depth);
      if ((side[1] === 'left' ? depth : grown[grown.length - 1]) === 0)
        token = side[2] === '.' ? '' : `\\bigg${side[1][0]}${side[2]}`;
      else depth += side[1] === 'left' ? 1 : -1;
      if (side[1] === 'right') grown.pop();
    } else if (/^(?:\\left(?![a-z])|\\begin|\{$)/.test(token)) depth++;
    else if (/^(?:\\right(?![a-z])|\\end|\}$)/.test(token)) depth--;
    else if (!inside && /^[(\[]$/.test(token)) depth++;
    else if (!inside && /^[)\]]$/.test(token)) depth = Math.max(depth - 1, 0);
    const starts = depth === 0 && before !== '' && !RELATION.test(before) && !OPERATOR.test(before) && !/^[\^_]$/.test(before);
    if (level && starts && (RELATION.test(token) || OPERATOR.test(token) && !/^(?:[(\[,]|\\bigg?l.*)$/.test(before))) found.push('{}');
    found[found.length - 1] += token;
    if (depth === 0 && (SPACE.test(token) || token === ',')) found.push('');
    if (token.trim()) before = SPACE.test(token) || token === ',' ? '' : token;
  }
  return found.filter(piece => piece.replace(/\{\}|\\displaystyle/g, '').trim());
}

// The lines of an aligned formula, each without its marks.
function lines(tex) {
  const inner = /^\s*(?:\\displaystyle\s*)?\\begin\{(split|aligned|gathered|align\*?)\}([^]*)\\end\{\1\}\s*$/.exec(tex)?.[2];
  if (inner === undefined) return [tex];
  return /^\s*(?:\\displaystyle\s*)?\\begin/.test(inner) ? lines(inner) : inner.split(/\\\\(?:\[[^\]]*\])?/).map(row => row.replace(/(?<!\\)&/g, ' '));
}

// Pieces side by side, as far as a line holds them.
function drawnInPieces(tex, display) {
  const box = document.createElement('span');
  box.className = 'pieces';
  for (const [number, line] of lines(tex).entries()) {
    if (number) box.append(document.createElement('br'));
    box.append(...draw(line, 0, display));
  }
  return box;
}

function draw(tex, level, display) {
  return pieces(tex, level).map(piece => {
    const drawn = MathJax.tex2chtml((display ? '\\displaystyle ' : '') + piece, {display: false});
    drawn.tex = piece;
    return drawn;
  });
}

// What a line does not hold stands alone, in smaller pieces.
function divide(box, space, level, display) {
  for (const piece of box.querySelectorAll(':scope > mjx-container')) {
    if (width(piece) <= space) continue;
    const parts = draw(piece.tex, level, display);
    if (parts.length < 2) continue;
    if (piece.previousElementSibling?.tex) piece.before(document.createElement('br'));
    if (piece.nextElementSibling?.tex) piece.after(document.createElement('br'));
    piece.replaceWith(...parts);
  }
}

const sources = new Map();
const width = element => (element.querySelector('mjx-math') ?? element).getBoundingClientRect().width;

function room(element) {
  if (element.matches('[display="true"], .math:is(div) > .pieces')) return element.clientWidth;
  const block = element.closest('p, li, dd, td, th, figcaption, div, h1, h2, h3');
  const style = getComputedStyle(block);
  return block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}

// Set a formula so that it fits; the element that shows it from now on.
function fit(element) {
  element.style.fontSize = '';
  const space = room(element);
  if (!space) return element;
  const item = sources.get(element);
  if (item && width(element) > space + 1) {
    const display = element.getAttribute('display') === 'true';
    if (display && space >= 0.85 * width(element)) {
      shrink(element, space, width(element));
      return element;
    }
    const box = drawnInPieces(item.math, display);
    element.replaceWith(box);
    element = box;
    const line = space - (display ? 24 : 0);
    divide(box, line, 1, display);
    if (SMALLEST * widest(box) > line) divide(box, line, 2, display);
  }
  if (element.className === 'pieces') shrink(element, room(element) - 24, widest(element));
  return element;
}

const widest = box => Math.max(...[...box.querySelectorAll(':scope > mjx-container')].map(width));

function shrink(element, space, needed, least = SMALLEST) {
  if (needed <= space) return;
  const size = parseFloat(getComputedStyle(element).fontSize);
  element.style.fontSize = `${size * Math.max(least, (space - 2) / needed)}px`;
}

function cue(element) {
  const left = element.scrollLeft, right = element.scrollWidth - element.clientWidth - left;
  const scrolls = element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== 'visible';
  element.classList.toggle('more-left', scrolls && left > 1);
  element.classList.toggle('more-right', scrolls && right > 1);
  if (scrolls) element.tabIndex = 0;
}

function settle() {
  let drawn = 0;
  for (const table of document.querySelectorAll('.bd-article table')) {
    table.style.fontSize = '';
    const space = table.parentElement.clientWidth;
    if (space && table.offsetWidth > space) shrink(table, space, table.offsetWidth, 0.87);
  }
  for (const element of document.querySelectorAll('.bd-article :is(mjx-container, .pieces)')) {
    if (element.closest('mjx-container mjx-container') || element.parentElement.className === 'pieces') continue;
    drawn += fit(element) !== element;
  }
  if (drawn) MathJax.startup.document.updateDocument();
  document.querySelectorAll(SCROLLING).forEach(cue);
}

window.addEventListener('load', async () => {
  await window.MathJax?.startup?.promise;
  for (const item of window.MathJax?.startup?.document?.math ?? []) sources.set(item.typesetRoot, item);
  settle();
  let pending = 0, last = innerWidth;
  const later = () => { cancelAnimationFrame(pending); pending = requestAnimationFrame(settle); };
  window.addEventListener('resize', () => { if (innerWidth !== last) later(); last = innerWidth; });
  // what was folded has no width until it is opened
  document.addEventListener('toggle', later, true);
  document.addEventListener('click', event => event.target.closest('.toggle-button, .admonition.dropdown') && later());
  document.addEventListener('scroll', event => event.target.matches?.(SCROLLING) && cue(event.target), true);
});

// A column of numbers stands with its digits below each other.
function alignNumbers() {
  for (const table of document.querySelectorAll('.bd-article table.dataframe')) {
    const rows = [...table.tBodies].flatMap(body => [...body.rows]);
    for (let k = 0; k < (rows[0]?.cells.length ?? 0); k++)
      if (rows.every(row => /^(?:[−-]?\d[\d.,]*(?:·10[⁻⁰¹²³⁴-⁹]+)?\s?%?|10[⁻⁰¹²³⁴-⁹]+|[−-]?∞|–)$/.test(row.cells[k]?.textContent.trim() ?? '–')))
        for (const row of table.rows) row.cells[k]?.classList.add('number');
  }
}
addEventListener('DOMContentLoaded', alignNumbers);

// One switch for all code of a page.
function addSwitch() {
  const folds = [...document.querySelectorAll('.bd-article .cell > details.hide.above-input:has(.cell_input)')]
    .filter(fold => !fold.querySelector('.cell_output'));
  const place = document.querySelector('.article-header-buttons');
  if (folds.length < 2 || !place) return;
  const button = Object.assign(document.createElement('button'), {type: 'button', className: 'btn btn-sm code-switch'});
  const say = () => { button.textContent = folds.every(fold => fold.open) ? 'Fold all code' : 'Open all code'; };
  button.addEventListener('click', () => { const open = !folds.every(fold => fold.open); for (const fold of folds) fold.open = open; });
  document.addEventListener('toggle', say, true);
  say();
  place.prepend(button);
}
addEventListener('DOMContentLoaded', addSwitch);

// Excerpts of pages found, from the texts that the build wrote: they show words, from disk too.
function excerpt(text, terms) {
  const low = text.toLowerCase();
  const places = terms.map(term => low.indexOf(term)).filter(place => place >= 0);
  const start = Math.max(0, low.lastIndexOf(' ', (places[0] ?? 0) - 80) + 1);
  return (start ? '… ' : '') + text.slice(start, start + 240) + (start + 240 < text.length ? ' …' : '');
}

function addExcerpts() {
  const results = document.getElementById('search-results');
  if (!results) return;
  const root = document.documentElement.dataset.content_root;
  const terms = (new URLSearchParams(location.search).get('q') ?? '').toLowerCase().split(/[^\p{L}\p{N}_]+/u)
    .filter(Boolean).sort((a, b) => b.length - a.length);
  const show = () => {
    for (const item of results.querySelectorAll('li:not(:has(> p, > span))')) {
      const page = new URL(item.querySelector('a').href).pathname.slice(new URL(root, location).pathname.length).replace(/\.html$/, '');
      const text = PAGE_TEXTS[decodeURI(page)];
      if (text) item.append(Object.assign(document.createElement('p'), {className: 'context', textContent: excerpt(text, terms)}));
    }
  };
  new MutationObserver(show).observe(results, {childList: true, subtree: true});
  show();
}
addEventListener('DOMContentLoaded', addExcerpts);

const FOLDED = ':is(.bd-article details:not([open]), .toggle-hidden)';
const turn = one => { if (one.matches('details')) one.open = !one.open; else one.querySelector('.toggle-button')?.click(); };

// Paper shows what is folded but answers, and then all is as before.
let printed = [];
addEventListener('beforeprint', () => {
  printed = [...document.querySelectorAll(FOLDED)].filter(one => !one.closest('.solution') && !/^\s*Check your/.test(one.textContent));
  printed.forEach(turn);
});
addEventListener('afterprint', () => printed.forEach(turn));

// A link to what is folded opens it.
function unfold() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let one = target; one; one = one.parentElement) if (one.matches(FOLDED)) turn(one);
  target.scrollIntoView();
}
addEventListener('load', unfold);
addEventListener('hashchange', unfold);
