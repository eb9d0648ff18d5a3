// The models of tests/models, and functions on frames.

import { existsSync, readFileSync, readdirSync } from "node:fs";

export const kFolder = new URL("../../tests/models/", import.meta.url);

/** Return the models, with the facts in their READMEs. */
export function modelsThere() {
  return readdirSync(kFolder).filter((name) => existsSync(new URL(`${name}/model.nnef.tgz`, kFolder)))
    .map((name) => {
      const readme = readFileSync(new URL(`${name}/README.md`, kFolder), "utf8");
      const streams = /streams along (\w+) \(input axis \d+\), reference pulse (\d+)/.exec(readme);
      const unit = /multiple of (\d+)/.exec(readme);
      return { name, symbol: streams?.[1], pulse: Number(streams?.[2]),
               unit: unit ? Number(unit[1]) : 1, bidirectional: readme.includes("bidirectional"),
               file: (leaf) => readFileSync(new URL(`${name}/${leaf}`, kFolder)) };
    });
}

/** Numbers between 0 and 1, the same in every run. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Return the frames of adjacent rows, starting at frame `from`. */
export function cut({ data, shape }, axis, from, count) {
  const outer = shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const out = new data.constructor(outer * count * inner);
  for (let row = 0; row < outer; ++row) {
    const at = (row * shape[axis] + from) * inner;
    out.set(data.subarray(at, at + count * inner), row * count * inner);
  }
  return out;
}

/** Concatenate pieces of rows. */
export function joined(pieces, shape, axis) {
  const outer = shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const all = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const out = new pieces[0].constructor(all);
  const frames = all / (outer * inner);
  let at = 0;
  for (const piece of pieces) {
    const count = piece.length / (outer * inner);
    for (let row = 0; row < outer; ++row) {
      out.set(piece.subarray(row * count * inner, (row + 1) * count * inner),
              (row * frames + at) * inner);
    }
    at += count;
  }
  return out;
}

/** Return the values of all symbols but `stream` in a bundle. */
export function symbolsOf(model, bundle, stream = undefined) {
  const symbols = {};
  const { symbols: free } = model;
  for (const io of model.inputs) {
    io.dims.forEach((dim, axis) => {
      if (free.includes(dim) && dim !== stream) symbols[dim] = bundle[io.name].shape[axis];
    });
  }
  return symbols;
}
