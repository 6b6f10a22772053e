// The committed table of predictions: tensor-product cubic B-splines, packed as 16-bit integers.
(function (explorer) {
  "use strict";

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const both = new Uint8Array(await new Response(stream).arrayBuffer()), count = both.length / 2;
    return new Int16Array(count).map((_, i) => both[i] | (both[count + i] << 8)); // low bytes come first
  }

  async function load(table) {
    const packed = await unpack(table.data);
    const nodes = table.axes.reduce((product, axis) => product * (axis.knots.length - 4), 1);
    const fields = table.fields.map(({ name, scale }, i) => ({
      name, scale, values: packed.subarray(i * nodes, (i + 1) * nodes),
    }));
    return { axes: table.axes, fields };
  }

  // The four cubic B-splines that are not zero at x, by the recursion of Cox and de Boor.
  function basis(knots, place) {
    const x = Math.min(knots[knots.length - 4], Math.max(knots[3], place)); // beyond the grid as on its edge
    let span = 3;
    while (span < knots.length - 5 && x >= knots[span + 1]) span++;
    const weights = [1, 0, 0, 0];
    for (let degree = 1; degree <= 3; degree++) {
      let carried = 0;
      for (let i = 0; i < degree; i++) {
        const right = knots[span + i + 1], left = knots[span + i + 1 - degree];
        const part = weights[i] / (right - left);
        weights[i] = carried + (right - x) * part;
        carried = (x - left) * part;
      }
      weights[degree] = carried;
    }
    return { first: span - 3, weights };
  }

  // Where the products of splines that are not zero at a point lie in a field, and how much each weighs.
  function products(axes, point) {
    let offsets = [0], factors = [1];
    axes.forEach((axis, i) => {
      const { first, weights } = basis(axis.knots, point[i]);
      const size = axis.knots.length - 4;
      offsets = offsets.flatMap((offset) => weights.map((_, j) => offset * size + first + j));
      factors = factors.flatMap((factor) => weights.map((weight) => factor * weight));
    });
    return { offsets, factors };
  }

  // Values of all fields at a point, one coordinate for each axis.
  explorer.interpolate = function ({ axes, fields }, point) {
    const { offsets, factors } = products(axes, point), found = {};
    for (const { name, scale, values } of fields) {
      let sum = 0;
      for (let j = 0; j < offsets.length; j++) sum += factors[j] * values[offsets[j]];
      found[name] = sum * scale;
    }
    return found;
  }

  // The table at fixed coordinates of its first axes: a map or a curve moves only along the others.
  explorer.slice = function ({ axes, fields }, point) {
    const rest = axes.slice(point.length), { offsets, factors } = products(axes.slice(0, point.length), point);
    const size = rest.reduce((product, axis) => product * (axis.knots.length - 4), 1);
    return {
      axes: rest,
      fields: fields.map(({ name, scale, values }) => {
        const sums = new Float64Array(size);
        offsets.forEach((offset, j) => {
          for (let i = 0; i < size; i++) sums[i] += factors[j] * values[offset * size + i];
        });
        return { name, scale, values: sums };
      }),
    };
  }

  async function loadAll() {
    explorer.tables = await Promise.all(explorer.data.tables.map(async (tables) => {
      const loaded = await Promise.all(Object.values(tables).map(load));
      return Object.fromEntries(Object.keys(tables).map((name, i) => [name, loaded[i]]));
    }));
    explorer.steps = await load(explorer.data.steps);
  }

  explorer.ready = loadAll();
})((window.explorer = window.explorer || {}));
