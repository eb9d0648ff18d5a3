// Describes a model, its streams, and the time of a step on this machine.

import { CompiledModel, load } from "../dist/rill.js";

/** Make a table. Columns of numbers, and their headings, are right-aligned. */
function table(head, rows) {
  const element = document.createElement("table");
  const numbers = head.map((_, i) => typeof rows[0]?.[i] === "number");
  const line = (cells, kind) => {
    const row = document.createElement("tr");
    cells.forEach((cell, i) => {
      const place = document.createElement(kind);
      if (numbers[i]) place.className = "number";
      place.append(typeof cell === "number" ? cell.toLocaleString("en") : cell);
      row.append(place);
    });
    return row;
  };
  element.append(line(head, "th"), ...rows.map((row) => line(row, "td")));
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.append(element);
  return scroll;
}

function heading(text) {
  const element = document.createElement("h2");
  element.textContent = text;
  return element;
}

/** Time steps of a stream over noise, a little at a time, so that the page responds: the mean of each
 *  batch in microseconds. The browser's clock is too coarse for one step. */
async function stepTimes(stream) {
  const inputs = Object.fromEntries(stream.inputs.filter((io) => io.axis >= 0).map((io) => {
    const size = io.shape.reduce((a, b) => a * b, 1);
    const noise = io.type === "f32" ? new Float32Array(size).map(() => Math.random() - 0.5) : null;
    if (!noise) throw new Error(`${io.name} takes ${io.type}: times are measured for f32 only`);
    return [io.name, noise];
  }));
  const batches = [];
  const until = performance.now() + 1000;
  let steps = 0;
  for (let size = 1; performance.now() < until && steps < 20000;) {
    const begin = performance.now();
    for (let i = 0; i < size; ++i) stream.push(inputs);
    const took = performance.now() - begin;
    steps += size;
    if (took < 4 && size < 1024) {
      size *= 2;
    } else {
      batches.push(1000 * took / size);
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
  batches.sort((a, b) => a - b);
  return { batches, steps };
}

function bar(share) {
  const element = document.createElement("meter");
  element.value = share;
  element.textContent = `${Math.round(100 * share)} %`;
  return element;
}

/** Return a table of the nodes that take the most time. */
function profileTable(stream, steps) {
  const nodes = stream.profile(steps).filter(({ us }) => us > 0).sort((a, b) => b.us - a.us);
  const all = nodes.reduce((sum, node) => sum + node.us, 0) || 1;
  return table(["µs", "share", "operator", "node"],
               nodes.slice(0, 20).map(({ name, op, us }) =>
                 [Number(us.toFixed(2)), bar(us / all), op, name]));
}

/** Parse the values of constant inputs as a visitor writes them: "sr=16000; k=1,2". */
function constantsOf(text) {
  return Object.fromEntries(text.split(";").filter((part) => part.trim()).map((part) => {
    const [name, values = ""] = part.split("=");
    return [name.trim(), values.split(",").map(Number)];
  }));
}

/** Return the stream to time, and its symbol; {} for a model that was compiled for whole runs. */
function streamOf(model, symbol, pulse) {
  if (model instanceof CompiledModel) {
    return model.pulsed > 0 ? { stream: model.stream(), along: model.streams[0].symbol } : {};
  }
  const { symbols } = model;
  // A model with a single symbol streams along it, whatever its name.
  const along = symbols.length === 1 && symbol === "S" ? symbols[0] : symbol;
  return { stream: model.pulse(along, pulse), along };
}

/** Describe a model in `place`. Throws what loading and pulsing throw. */
export async function showModel(place, bytes, { symbol, pulse, constants }) {
  const model = await load(bytes, { constants: constantsOf(constants) });
  const { inputs, outputs, properties } = model.inspect();
  place.append(
    heading("Inputs and outputs"),
    table(["", "name", "shape and type"],
          [...inputs.map((io) => ["input", io.name, io.text]),
           ...outputs.map((io) => ["output", io.name, io.text])]));
  if (Object.keys(properties).length > 0) {
    place.append(heading("Properties"), table(["name", "value"], Object.entries(properties)));
  }
  const { stream, along } = streamOf(model, symbol, pulse);
  if (stream) {
    await showStream(place, stream, along);
    stream.close();
  } else {
    place.append(heading("Compiled to run whole"),
                 table(["memory", "bytes"], Object.entries(model.memory)));
  }
  model.close();
}

async function showStream(place, stream, symbol) {
  place.append(
    heading(`A stream along ${symbol}, ${stream.pulse} frames a step`),
    table(["output", "delay in frames", "in frames of the input", "frames a step"],
          stream.streams.map((each, i) => [stream.outputs[i].name, each.delay,
                                           each.delayInputFrames, each.pulse])),
    table(["memory", "bytes"], Object.entries(stream.memory)));
  const { batches, steps } = await stepTimes(stream);
  const at = (share) => batches[Math.min(batches.length - 1, Math.floor(share * batches.length))];
  const us = (share) => Number(at(share).toFixed(1));
  place.append(
    heading("Time of a step on this machine"),
    table(["µs, median", "least", "most", "steps"], [[us(0.5), us(0), us(1), steps]]),
    heading("Where it goes"),
    profileTable(stream, Math.min(2000, Math.max(10, steps))));
}
