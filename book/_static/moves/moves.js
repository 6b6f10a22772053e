// Figures that move. A binding of figures.js declares a figure of the page, its sliders, the numbers that follow
// from them and how they are drawn; this puts it in the place of the printed figure, which a reader can have back.
(function (moves) {
  "use strict";

  const element = (tag, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...children);
    return made;
  };

  // A slider over a list of values: one step of an arrow key is one value.
  function slider(binding, letter, state, change) {
    const { name, values, at } = binding.sliders[letter], said = element("output");
    const bar = element("input", { type: "range", min: 0, max: values.length - 1, step: 1, value: values.indexOf(at) });
    bar.setAttribute("aria-label", `${name} ${letter}`);
    const show = () => {
      state[letter] = values[bar.value];
      said.textContent = typeof state[letter] === "number" ? state[letter].toLocaleString("en") : state[letter];
      bar.setAttribute("aria-valuetext", said.textContent);
    };
    bar.addEventListener("input", () => { show(); change(); });
    show();
    return element("label", {}, element("span", {}, `${name} `, element("i", { textContent: letter }), letter && " = ", said), bar);
  }

  function mount(name) {
    const binding = moves.figures[name], figure = document.getElementById(binding.figure);
    const state = {}, chart = element("div", { className: "moves-chart" }), words = element("p", { className: "moves-words" });
    words.setAttribute("role", "status");
    const draw = () => {
      const numbers = binding.numbers(state);
      words.innerHTML = binding.words(numbers, state);
      binding.draw(chart, numbers, state);
      chart.firstChild.setAttribute("role", "img");
      chart.firstChild.setAttribute("aria-label", words.textContent);
    };
    let waiting = null; // pictures once a frame, however fast the events come
    const change = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); };
    const sliders = Object.keys(binding.sliders).map((letter) => slider(binding, letter, state, change));
    const back = element("button", { type: "button", textContent: "As printed" });
    back.addEventListener("click", () => {
      back.textContent = figure.classList.toggle("moves-on") ? "As printed" : "Move it";
      if (back.textContent === "As printed") draw();
    });
    const mover = element("div", { className: "moves" }, element("p", { className: "moves-guess", textContent: binding.guess }),
      element("div", { className: "moves-sliders" }, ...sliders), chart, words);
    figure.prepend(mover);
    figure.querySelector(".caption-text").after(element("span", { className: "moves-caption", innerHTML: binding.caption }), " ", back);
    figure.classList.add("moves-on");
    draw();
    let wide = innerWidth; // on a phone scrolling changes the height
    addEventListener("resize", () => { if (innerWidth !== wide) change(); wide = innerWidth; });
  }

  for (const place of document.querySelectorAll("[data-moves]")) mount(place.dataset.moves);
})((window.moves = window.moves || { figures: {} }));
