// The task: make accuracy reach 0.9, changing one size.
(function (explorer) {
  "use strict";

  const { SIZES, LETTERS } = explorer;

  const changes = (setting) => SIZES.filter((name) => setting[name] !== explorer.START[name]);
  const other = (setting) => setting.width !== null || ["trigger_in_values", "learner"].some((name) => setting[name] !== explorer.START[name]);
  const done = ({ accuracy }) => accuracy >= explorer.data.accuracy;
  const listed = (words, last) => [words.slice(0, -1).join(", "), words[words.length - 1]].filter(Boolean).join(` ${last} `);

  const nearest = {};
  let known = null, free = false; // once done, the sizes are free until Reset

  // Which sizes would do alone, each with the nearest value; always the same, because the start is.
  const ways = () => known ??= search();
  const alone = (name) => (nearest[name] ??= [explorer.alone(explorer.START, name)])[0];

  function search() {
    const found = SIZES.map((name) => [LETTERS[name], alone(name)]);
    const [can, cannot] = [found.filter(([, size]) => size), found.filter(([, size]) => !size)];
    const values = can.map(([letter, size]) => `${letter} = ${explorer.svg.short(size)}`);
    const never = cannot.length ? ` ${listed(cannot.map(([letter]) => letter), "and")} alone never does, because recall stays below ${explorer.data.accuracy}.` : "";
    return `One size alone: ${listed(values, "or")}.${never} From here on change what you like.`;
  }

  // The state of the task, in few words, and what follows from it.
  explorer.taskWords = function (setting, found) {
    const changed = changes(setting), letters = changed.map((name) => LETTERS[name]);
    const single = changed.length === 1 && !other(setting);
    free ||= single && done(found);
    if (free) return [single && done(found) ? `Done, with ${letters[0]}.` : "Task done. Reset starts it again.", ways()];
    if (other(setting)) return ["Task off: the model has changed.", "Reset starts the task again."];
    if (changed.length > 1) {
      const back = changed.length > 2 ? "" : `Bring ${listed(changed.map((name) => `${LETTERS[name]} back to ${explorer.START[name]}`), "or")}. `;
      return [`Task off: ${listed(letters, "and")} have changed, and it allows one.`, `${back}Reset starts the task again.`];
    }
    return [`Task${changed.length ? `, with ${letters[0]}` : ""}: accuracy ${explorer.share(found.accuracy, 3)} of ${explorer.data.accuracy}.`,
      single && !alone(changed[0]) ? `${letters[0]} alone never does, because recall stays below ${explorer.data.accuracy}.` : ""];
  };

  explorer.restartTask = () => { free = false; };

  // Which of d and N the dot moves: one while the task is on, the one that has changed or else the one that is moved most.
  explorer.movable = function (setting, most) {
    const changed = changes(setting), on = !free && !other(setting) && changed.length < 2;
    return on ? [["dim", "samples"].find((name) => changed.includes(name)) ?? most] : ["dim", "samples"];
  };
})((window.explorer = window.explorer || {}));
