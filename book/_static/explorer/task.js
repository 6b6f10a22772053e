// The task: accuracy of 0.9 with one size changed, and how far a reader has come.
(function (explorer) {
  "use strict";

  const letters = (names) => names.map((name) => explorer.LETTERS[name]).join(" and ");

  explorer.taskOf = function (setting, { accuracy }) {
    const goal = explorer.data.accuracy, changed = explorer.SIZES.filter((name) => setting[name] !== explorer.START[name]);
    if (["width", "trigger_in_values", "learner"].some((name) => setting[name] !== explorer.START[name])) return { words: "The model has changed: Undo or Reset." };
    if (changed.length > 1) return { words: `${letters(changed)} have changed, and the task allows one: Undo or Reset.` };
    if (accuracy >= goal) return { done: true, words: `Done, with ${letters(changed)}. Two other sizes can do it alone, and two never do.` };
    return { words: `accuracy ${explorer.share(accuracy)} of ${goal}.` };
  };
})((window.explorer = window.explorer || {}));
