// Times a pulse of a model in node, and onnxruntime-web on the model's twin in ONNX.
//
//   npm install --prefix FOLDER onnxruntime-web
//   node web/bench/compare.mjs MODEL SYMBOL PULSE [TWIN.onnx FOLDER] [--rounds N]
//   node web/bench/compare.mjs PLAN.rill [TWIN.onnx FOLDER] [--rounds N]
//
// TWIN takes one pulse as `x` and its states as `state_0`, ...; it gives `y` and `state_0_out`, ....
// Both run alternately in one thread on the same noise. A time is the least of the medians of all rounds. The
// start is the time from the bytes of the model to the first frames, with and without compiling the WebAssembly
// module.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

import { openStream } from "../dist/compiled.js";
import { load } from "../dist/node.js";

const words = process.argv.slice(2);
const option = words.indexOf("--rounds");
const rounds = option < 0 ? 7 : Number(words.splice(option, 2)[1]);
const isPlan = words[0]?.endsWith(".rill");
if (isPlan) words.splice(1, 0, undefined, undefined);
const [path, symbol, pulse, twin, folder] = words;
if (!path || !(pulse || isPlan)) throw new Error("expected MODEL SYMBOL PULSE [TWIN.onnx FOLDER]");

const noise = (size) => Float32Array.from({ length: size }, (_, i) => Math.sin(i * i * 0.37) * 0.3);
const volume = (shape) => shape.reduce((a, b) => a * b, 1);

async function openRill() {
  const begin = performance.now();
  const model = await load(readFileSync(path));
  const stream = openStream(model, symbol, pulse);
  const frames = noise(volume(stream.inputs[0].shape));
  stream.push(frames);
  return { start: performance.now() - begin, step: () => stream.push(frames) };
}

async function openTwin() {
  const begin = performance.now();
  const require = createRequire(join(resolve(folder), "package.json"));
  const ort = require("onnxruntime-web");
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  const session = await ort.InferenceSession.create(readFileSync(twin), { executionProviders: ["wasm"] });
  const feeds = {};
  for (const { name, shape } of session.inputMetadata) {
    const data = name === "x" ? noise(volume(shape)) : new Float32Array(volume(shape));
    feeds[name] = new ort.Tensor("float32", data, shape);
  }
  const step = async () => {
    const given = await session.run(feeds);
    for (const name of session.inputNames) {
      if (name !== "x") feeds[name] = given[`${name}_out`];
    }
  };
  await step();
  return { start: performance.now() - begin, step };
}

/** Return the median time of the steps in a quarter of a second, in microseconds. */
async function medianStep({ step }) {
  const times = [];
  const until = performance.now() + 250;
  for (let now = performance.now(); now < until;) {
    const made = step();
    if (made instanceof Promise) await made;
    const after = performance.now();
    times.push(1000 * (after - now));
    now = after;
  }
  times.sort((a, b) => a - b);
  return times[times.length >> 1];
}

const starts = { rill: [], twin: [] };
const least = { rill: Infinity, twin: Infinity };
for (let round = 0; round < rounds; ++round) {
  const sides = { rill: await openRill(), ...(twin ? { twin: await openTwin() } : {}) };
  for (const [name, side] of Object.entries(sides)) {
    starts[name].push(side.start);
    await medianStep(side);
    least[name] = Math.min(least[name], await medianStep(side));
  }
}
const summary = (name) => `${least[name].toFixed(1)} us a pulse, start ${starts[name][0].toFixed(1)} ms, ` +
  `${Math.min(...starts[name].slice(1)).toFixed(1)} ms with the module compiled`;
console.log(`rill: ${summary("rill")}`);
if (twin) {
  console.log(`onnxruntime-web: ${summary("twin")}`);
  console.log(`rill is ${(least.twin / least.rill).toFixed(2)} times as fast`);
}
