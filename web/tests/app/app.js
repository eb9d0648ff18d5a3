// An app as a user writes it: models of all three modules, a RillNode, a RillEffect. Results appear in the page, and
// as JSON in document.body.dataset.result, where tests read them.

import { load } from "rill-stream";
import { RillEffect, RillNode } from "rill-stream/audio";

const kRate = 48000;
const kAhead = 40;
// y(t) = x(t) / 2 + x(t + 40) / 4
const kModel = new TextEncoder().encode(`version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{
  x = tract_core_external(shape = [S], datum_type = 'f32');
  padded = pad(x, padding = [(0, ${kAhead})], border = 'constant', value = 0.0);
  ahead = slice(padded, axes = [0], begin = [${kAhead}], end = [0]);
  half = x * 0.5;
  quarter = ahead * 0.25;
  y = half + quarter;
}
`);
const fround = Math.fround;
const wanted = (sound, t) => (t < 0 ? 0 : fround(fround(sound[t] * 0.5) + fround((sound[t + kAhead] ?? 0) * 0.25)));

function source(context, sound) {
  const buffer = new AudioBuffer({ length: sound.length, sampleRate: kRate });
  buffer.copyToChannel(sound, 0);
  const node = new AudioBufferSourceNode(context, { buffer });
  node.start();
  return node;
}

async function run() {
  const sound = Float32Array.from({ length: kRate / 4 }, (_, i) => Math.sin(i * i * 1e-5));
  const found = {};

  const stream = (await load(kModel)).pulse("S", 160);
  const whole = [...stream.push(sound).y, ...stream.finish().y];
  found.stream = whole.length === sound.length && whole.every((y, t) => y === wanted(sound, t));

  const played = new OfflineAudioContext(1, sound.length, kRate);
  const effect = await RillEffect.create(played, kModel, { rate: kRate, pulse: 160 });
  source(played, sound).connect(effect).connect(played.destination);
  const output = (await played.startRendering()).getChannelData(0);
  found.latency = effect.latency;
  found.latencySeconds = effect.latencySeconds;
  found.effect = output.every((y, t) => y === wanted(sound, t - effect.latency));
  found.refusal = await RillEffect.create(played, kModel, {}).then(() => "", String);

  const heard = new OfflineAudioContext(1, sound.length, kRate);
  const node = await RillNode.create(heard, kModel, { rate: kRate, pulse: 160 });
  const frames = [];
  node.onframes = ({ data }) => frames.push(...data);
  source(heard, sound).connect(node);
  await heard.startRendering();
  await new Promise((resolve) => setTimeout(resolve, 300));
  found.frames = frames.length;
  found.node = frames.length >= sound.length - kAhead - 320 && frames.every((y, t) => y === wanted(sound, t));

  for (const [name, file] of [["onnx", "sum.onnx"], ["compiled", "model.rill"]]) {
    const answer = await fetch(file);
    // The server of Vite sends the page in place of a missing file.
    if (!answer.ok || answer.headers.get("content-type")?.startsWith("text/html")) continue;
    const model = await load(await answer.arrayBuffer(), name === "onnx" ? { constants: { gain: 2 } } : {});
    found[name] = model.inputs.map(({ text }) => text).join();
    model.close();
  }
  return found;
}

const kLabels = {
  stream: "stream has the frames of the whole run", effect: "effect plays them after its latency",
  latency: "latency of the effect, frames", latencySeconds: "latency of the effect, seconds",
  node: "node hears them", frames: "frames that the node heard", onnx: "inputs of the ONNX model",
  compiled: "inputs of the compiled model", refusal: "an effect without a rate", error: "error",
};
const found = await run().catch((error) => ({ error: String(error) }));
const table = document.getElementById("found");
for (const [name, value] of Object.entries(found)) {
  const row = table.insertRow();
  row.insertCell().textContent = kLabels[name];
  row.insertCell().textContent = String(value);
}
document.body.dataset.result = JSON.stringify(found);
