// The committed table of predictions: values at nodes of sizes, packed as 16-bit integers, and what lies between them.
(function (explorer) {
  "use strict";

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const both = new Uint8Array(await new Response(stream).arrayBuffer()), count = both.length / 2;
    return new Int16Array(count).map((_, i) => both[i] | (both[count + i] << 8)); // low bytes come first
  }

  async function load({ axes, fields, unit, data }) {
    const values = await unpack(data), size = values.length / fields.length;
    return {
      axes: Object.entries(axes).map(([name, nodes]) => ({ name, places: nodes.map(Math.log) })),
      fields: fields.map((name, i) => ({ name, unit, values: values.subarray(i * size, (i + 1) * size) })),
    };
  }

  // The corners of the cell that holds these sizes, each with its weight; sizes beyond the grid count as on its edge.
  function corners(axes, sizes) {
    return axes.reduce((found, { name, places }) => {
      const place = Math.log(sizes[name]), above = places.findIndex((node) => node > place);
      const first = (above < 0 ? places.length - 1 : Math.max(above, 1)) - 1;
      const share = Math.min(1, Math.max(0, (place - places[first]) / (places[first + 1] - places[first])));
      return found.flatMap(([offset, weight]) => [[first, 1 - share], [first + 1, share]]
        .map(([node, part]) => [offset * places.length + node, weight * part]));
    }, [[0, 1]]);
  }

  // Values of all fields at sizes, linear between nodes in the logarithm of each.
  explorer.interpolate = function ({ axes, fields }, sizes) {
    const cell = corners(axes, sizes).filter(([, weight]) => weight > 0);
    const value = ({ unit, values }) => unit * cell.reduce((sum, [place, weight]) => sum + weight * values[place], 0);
    return Object.fromEntries(fields.map((field) => [field.name, value(field)]));
  };

  async function loadAll() {
    explorer.tables = await Promise.all(explorer.data.tables.map(async (tables) => {
      const loaded = await Promise.all(Object.values(tables).map(load));
      return Object.fromEntries(Object.keys(tables).map((name, i) => [name, loaded[i]]));
    }));
  }

  explorer.ready = loadAll();
})((window.explorer = window.explorer || {}));
