// Three tasks, one after another: what is asked, and how far a reader has come.
(function (explorer) {
  "use strict";

  const LETTERS = { ...explorer.LETTERS, value_steps: "steps" }, SIZES = Object.keys(LETTERS);
  const HALF = explorer.START.dim / 2, LITTLE = 0.01; // of accuracy: what does not matter

  const changes = (setting, names = SIZES) => names.filter((name) => setting[name] !== explorer.START[name]);
  const other = (setting) => setting.width !== null || ["trigger_in_values", "learner"].some((name) => setting[name] !== explorer.START[name]);
  const reached = ({ accuracy }) => accuracy >= explorer.data.accuracy;
  const listed = (words, last) => [words.slice(0, -1).join(", "), words[words.length - 1]].filter(Boolean).join(` ${last} `);
  const letters = (names) => names.map((name) => LETTERS[name]);
  const back = (names) => listed(names.map((name) => `${LETTERS[name]} back to ${explorer.START[name]}`), "and");
  const so = ({ accuracy }) => `accuracy ${explorer.share(accuracy)} of ${explorer.data.accuracy}.`;

  const nearest = {};
  const alone = (name) => (nearest[name] ??= [name === "value_steps" ? null : explorer.alone(explorer.START, name)])[0];

  // Which sizes would do alone, each with the nearest value; always the same, because the start is.
  function ways() {
    const can = SIZES.filter(alone), cannot = SIZES.filter((name) => !alone(name));
    return `One size alone: ${listed(can.map((name) => `${LETTERS[name]} = ${explorer.svg.short(alone(name))}`), "or")}. ` +
      `${listed(letters(cannot), "or")} alone never does: ${never("seq_len")}; ${never("value_steps")}.`;
  }

  const never = (name) => (name === "seq_len" ? "the shortest sequences leave recall below" : "more steps leave lock-on below") + ` ${explorer.data.accuracy}`;

  // A longer sequence costs so much accuracy against the shortest.
  const cost = (setting, seq_len) => explorer.predict({ ...setting, seq_len: 2 }).accuracy - explorer.predict({ ...setting, seq_len }).accuracy;

  const TASKS = [{
    goal: `Make accuracy reach ${explorer.data.accuracy}. You may change one size.`,
    judge(setting, found) {
      const changed = changes(setting);
      if (other(setting)) return { words: "The model has changed: Undo or Reset." };
      if (changed.length > 1) return { words: `${listed(letters(changed), "and")} have changed, and the task allows one: Undo or Reset.` };
      if (reached(found)) return { done: true, words: `Done, with ${letters(changed)[0]}.`, ways: ways() };
      return { words: so(found), ways: changed.length && !alone(changed[0]) ? `${letters(changed)[0]} alone never does: ${never(changed[0])}.` : "" };
    },
  }, {
    goal: `Make it with half the dimensions, d = ${HALF}: all else but V is yours.`,
    judge(setting, found) {
      const { dim, vocab } = setting;
      if (vocab < explorer.START.vocab) return { words: `Bring ${back(["vocab"])}.` };
      if (dim > HALF) return { words: `d = ${dim}: ${HALF} are allowed; ${so(found)}` };
      return reached(found) ? { done: true, words: `Done, with ${dim} dimensions.`,
        ways: "One value step has its wall further right. More steps or neurons move it to the left, and attention needs more N or shorter L." } : { words: so(found) };
    },
  }, {
    goal: "Find the L that does not matter: the greatest that costs no accuracy. All else as at the start.",
    judge(setting) {
      const moved = changes(setting).filter((name) => name !== "seq_len"), { seq_len } = setting;
      if (moved.length || other(setting)) return { words: moved.length ? `Bring ${back(moved)}.` : "The model has changed: Undo or Reset." };
      if (cost(setting, seq_len) > LITTLE) return { words: `L = ${seq_len} costs ${cost(setting, seq_len).toFixed(2)} of accuracy against L = 2.` };
      if (cost(setting, Math.round(1.2 * seq_len)) <= LITTLE) return { words: `L = ${seq_len} costs nothing, and a longer one neither.` };
      return { done: true, words: `Done: up to L = ${seq_len} recall alone sets accuracy.`,
        ways: "There attention finds nearly every token. Below, no N, d or V is saved by shorter sequences." };
    },
  }];

  let task = 0;

  explorer.taskOf = (setting, found) => ({ number: task, goal: TASKS[task].goal, last: task === TASKS.length - 1, ...TASKS[task].judge(setting, found) });
  explorer.nextTask = () => { task = Math.min(task + 1, TASKS.length - 1); };
  explorer.restartTask = () => { task = 0; };

  // Which of d and N the dot moves: one in the first task, the one that has changed or else the one that is moved most.
  explorer.movable = function (setting, most) {
    const changed = changes(setting), one = task === 0 && !other(setting) && changed.length < 2;
    return one ? [["dim", "samples"].find((name) => changed.includes(name)) ?? most] : ["dim", "samples"];
  };
})((window.explorer = window.explorer || {}));
