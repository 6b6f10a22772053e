// What scrolls inside itself must be reachable with the keyboard.
function makeScrollableFocusable() {
  const selector = 'mjx-container[display="true"], div.cell_output, div.output, figure, pre, .pst-scrollable-table-container';
  for (const element of document.querySelectorAll(selector)) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  }
}

window.addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  makeScrollableFocusable();
  window.addEventListener("resize", makeScrollableFocusable);
});
