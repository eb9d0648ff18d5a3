// What a model is, how it streams, and how long a step takes here.

import { load } from "../dist/rill.js";

function table(head, rows) {
  const element = document.createElement("table");
  const line = (cells, kind) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const place = document.createElement(kind);
      if (typeof cell === "number") place.className = "number";
      if (cell instanceof Node) place.append(cell);
      else place.textContent = typeof cell === "number" ? cell.toLocaleString("en") : cell;
      row.append(place);
    }
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

/** Time steps of a stream over noise, a little at a time, so that the page goes on. */
async function stepTimes(stream) {
  const inputs = Object.fromEntries(stream.inputs.filter((io) => io.axis >= 0).map((io) => {
    const size = io.shape.reduce((a, b) => a * b, 1);
    const noise = io.type === "f32" ? new Float32Array(size).map(() => Math.random() - 0.5) : null;
    if (!noise) throw new Error(`${io.name} takes ${io.type}: times are taken for f32 alone`);
    return [io.name, noise];
  }));
  const times = [];
  const until = performance.now() + 1000;
  for (let i = 0; i < 2000 && performance.now() < until; ++i) {
    const begin = performance.now();
    stream.push(inputs);
    times.push(performance.now() - begin);
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  times.sort((a, b) => a - b);
  return times;
}

function bar(share) {
  const element = document.createElement("meter");
  element.value = share;
  element.textContent = `${Math.round(100 * share)} %`;
  return element;
}

/** The nodes that take the most time, by their own clock. */
function profileTable(stream, steps) {
  const nodes = stream.profile(steps).sort((a, b) => b.us - a.us);
  const all = nodes.reduce((sum, node) => sum + node.us, 0) || 1;
  return table(["node", "operator", "mean µs", "share"],
               nodes.slice(0, 20).map(({ name, op, us }) =>
                 [name, op, Number(us.toFixed(2)), bar(us / all)]));
}

/** Values that decide, as a visitor writes them: "sr=16000; k=1,2". */
function constantsOf(text) {
  return Object.fromEntries(text.split(";").filter((part) => part.trim()).map((part) => {
    const [name, values = ""] = part.split("=");
    return [name.trim(), values.split(",").map(Number)];
  }));
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
  const { symbols } = model;
  // Where the only symbol has another name, it is the one that is meant.
  if (symbols.length === 1 && symbol === "S") [symbol] = symbols;
  const stream = model.pulse(symbol, pulse);
  place.append(
    heading(`A stream along ${symbol}, ${stream.pulse} frames a step`),
    table(["output", "delay in frames", "in frames of the input", "frames a step"],
          stream.streams.map((each, i) => [stream.outputs[i].name, each.delay,
                                           each.delayInputFrames, each.pulse])),
    table(["memory", "bytes"], Object.entries(stream.memory)));
  const times = await stepTimes(stream);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  place.append(
    heading("Time of a step on this machine"),
    table(["median", "99 of 100", "longest", "steps"],
          [[`${at(0.5).toFixed(3)} ms`, `${at(0.99).toFixed(3)} ms`, `${at(1).toFixed(3)} ms`,
            times.length]]),
    heading("Where it goes"),
    profileTable(stream, Math.max(10, times.length)));
  stream.close();
  model.close();
}
