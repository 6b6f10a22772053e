// What an MLP changes: lock-on has a table with one, and so has the recall of one token, which is always located.
(function (explorer) {
  "use strict";

  // The logarithm of N over V at which lock-on without an MLP is as high, or the nearest end of the table.
  function locatesAsOften(lockOn, table, d) {
    let [low, high] = explorer.data.range.share.map(Math.log);
    for (let i = 0; i < 20; i++) {
      const middle = (low + high) / 2;
      if (explorer.interpolate(table, [d, middle]).lock_on < lockOn) low = middle;
      else high = middle;
    }
    return high;
  }

  // Adds it to the predictions without one, whose table is cut at its V and L. Answers change as those of one token do,
  // with as many sequences as attention locates; recall is that of one token, less the share that is lost without an MLP
  // where attention locates as often.
  explorer.addNeurons = function (main, tables, setting) {
    const { unlog, interpolate } = explorer, { vocab, dim, samples, width, activation } = setting;
    const d = Math.log(dim), ratio = Math.log(width / dim), share = Math.log(samples / vocab);
    const alone = (located) => interpolate(tables.alone, [d, located]).recalled, before = Math.log(unlog(main.lock_on));
    main.lock_on = interpolate(tables[`lock ${activation}`], [d, ratio, share]).lock_on;
    const now = Math.log(unlog(main.lock_on)), seen = -Math.expm1(-Math.exp(share + now));
    const after = seen * unlog(interpolate(tables[`neurons ${activation}`], [d, ratio, share + now]).recalled);
    main.answered += Math.log(-Math.log1p(-after)) - alone(share + before);
    const stand = locatesAsOften(main.lock_on, tables.main, d), like = interpolate(tables.main, [d, stand]), found = Math.log(unlog(like.lock_on));
    const kept = unlog(like.recalled + found) / unlog(alone(stand + found));
    main.recalled = Math.log(-Math.log1p(-Math.min(1 - 1e-9, after * kept))) - now;
  };
})((window.explorer = window.explorer || {}));
