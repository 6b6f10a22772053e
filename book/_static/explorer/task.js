// The task: make accuracy reach 0.9, changing one size.
(function (explorer) {
  "use strict";

  const { SIZES, LETTERS } = explorer;

  function changes(setting) {
    return SIZES.filter((name) => setting[name] !== explorer.START[name]);
  }

  let known = null;

  // Which sizes would do alone, each with the nearest value; always the same, because the start is.
  const ways = () => known ??= search();

  function search() {
    const found = SIZES.map((name) => [LETTERS[name], explorer.alone(explorer.START, name)]);
    const [can, cannot] = [found.filter(([, size]) => size), found.filter(([, size]) => !size)];
    const alone = can.map(([letter, size]) => `${letter} = ${explorer.svg.short(size)}`).join(", ");
    return `One size alone: ${alone}.${cannot.length ? ` ${cannot.map(([letter]) => letter).join(" and ")} alone never does.` : ""}`;
  }

  explorer.taskWords = function (setting, { accuracy }) {
    const level = explorer.data.accuracy, changed = changes(setting), letters = changed.map((name) => LETTERS[name]);
    const other = setting.width !== null || ["trigger_in_values", "learner"].some((name) => setting[name] !== explorer.START[name]);
    if (other || changed.length > 1) {
      const words = other ? "more than a size" : letters.join(" and ");
      return `Changed: ${words}. You are in the sandbox; Reset starts the task again.`;
    }
    if (accuracy >= level) return `Done, with ${letters[0]}. ${ways()} From here on change what you like.`;
    return changed.length ? `${letters[0]} has changed; accuracy is ${accuracy.toFixed(3)}, not yet ${level}.` : `Accuracy is ${accuracy.toFixed(3)}.`;
  };
})((window.explorer = window.explorer || {}));
