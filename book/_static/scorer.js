// The order of what is found: what is exactly the word asked for, as a term of the glossary, as a name of the package; the
// pages that the glossary names for it; pages by their headings, and by how often they say it; last the reference.
const ASKED = (new URLSearchParams(location.search).get('q') ?? '').trim().toLowerCase();
const times = page => (ASKED && PAGE_TEXTS[page] || '').toLowerCase().split(ASKED).length - 1;

var Scorer = {
  score: ([page, title, anchor, , score]) => {
    if (anchor.startsWith('#term-')) return score >= 100 ? 200 : score / 10;
    if (title.toLowerCase() === `recallbook.${ASKED}`) return 150;
    if (page.startsWith('book/api')) return score - 1000;
    const rank = /appendix_|proofs/.test(page) ? -8 : /\/\d\d_/.test(page) ? 4 : 0;
    const home = Math.max(...Object.entries(TERM_PAGES).map(([term, pages]) =>
      pages.includes(page) * (term === ASKED ? 40 : term.startsWith(ASKED) ? 15 : 0)));
    const whole = anchor === '' ? home + 20 * title.toLowerCase().includes(ASKED) : 0;
    return score + rank + whole + 3 * Math.log2(1 + times(page));
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
// A word such as __proto__ would find what every object inherits.
if (typeof Search !== 'undefined') {
  const setIndex = Search.setIndex, {hasOwnProperty} = Object.prototype;
  Search.setIndex = index => {
    for (const words of [index.terms, index.titleterms]) Object.setPrototypeOf(words, {__proto__: null, hasOwnProperty});
    setIndex(index);
  };
}
