// Sphinx's own scores; but the reference of the code comes after the book, and an appendix after its equals.
var Scorer = {
  score: ([page, , , , score]) => score - (page.startsWith('book/api') ? 1000 : /appendix_|proofs/.test(page) ? 1 : 0),
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
