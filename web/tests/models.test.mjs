// Archives of tests/models: whole runs compared with PyTorch, and streams with whole runs, bit for bit.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { RillError, load } from "../dist/node.js";
import { cut, joined, kFolder, modelsThere, random, symbolsOf } from "./models.mjs";
import { readNpz } from "./npz.mjs";
import { runningSum } from "./onnx.mjs";

// Streams of attention sum over fewer keys than whole runs do, because they leave out hidden keys.
const attends = (name) => /^(conformer_|attention_|transformer_chunks)/.test(name);

function worst(found, expected) {
  let largest = 0;
  let size = 0;
  for (let i = 0; i < expected.length; ++i) {
    const a = Number(found[i]);
    const b = Number(expected[i]);
    if (Object.is(a, b) || (Number.isNaN(a) && Number.isNaN(b))) continue;
    largest = Math.max(largest, Math.abs(a - b));
    size = Math.max(size, Math.abs(b));
  }
  return largest === 0 ? 0 : largest / Math.max(size, 1e-30);
}

for (const each of modelsThere()) {
  test(`${each.name} runs whole`, async () => {
    const model = await load(each.file("model.nnef.tgz"));
    const bundle = readNpz(each.file("io.npz"));
    const out = model.run(bundle);
    for (const [name, { data, shape }] of Object.entries(out)) {
      if (!bundle[name]) continue;
      assert.deepEqual(shape, bundle[name].shape, name);
      const difference = worst(data, bundle[name].data);
      assert.ok(difference < 1e-3, `${name}: differs by ${difference} of the largest element`);
    }
    model.close();
  });

  if (!each.symbol || each.bidirectional) continue;
  test(`${each.name} streams the frames of its whole run`, async () => {
    const model = await load(each.file("model.nnef.tgz"));
    const bundle = readNpz(each.file("io.npz"));
    const whole = model.run(bundle);
    // Symbols other than the stream symbol take their values from the bundle.
    const bound = model.with(symbolsOf(model, bundle, each.symbol));
    const stream = bound.pulse(each.symbol, each.pulse);
    for (const io of stream.inputs) if (io.axis < 0) stream.set(io.name, bundle[io.name].data);
    const moving = stream.inputs.filter((io) => io.axis >= 0);
    const draw = random(7);
    for (let round = 0; round < 2; ++round) {
      const pieces = {};
      const keep = (out) => {
        for (const [name, data] of Object.entries(out)) (pieces[name] ||= []).push(data);
      };
      const shares = moving.map((io) => bundle[io.name].shape[io.axis]);
      const lead = Math.min(...shares);
      for (let at = 0; at < lead; ) {
        const count = round === 0 ? Math.min(each.pulse, lead - at)
          : Math.min(lead - at, 1 + Math.floor(draw() * 3 * each.pulse));
        const frames = Object.fromEntries(moving.map((io, i) => {
          const scale = shares[i] / lead;
          return [io.name, cut(bundle[io.name], io.axis, at * scale, count * scale)];
        }));
        keep(stream.push(frames));
        at += count;
      }
      const last = stream.finish();
      for (const io of stream.outputs) {
        const i = stream.outputs.indexOf(io);
        if (io.axis < 0) {
          assert.ok(worst(last[io.name], whole[io.name].data) <= (attends(each.name) ? 2e-5 : 0));
          continue;
        }
        const found = joined([...(pieces[io.name] ?? []), last[io.name]], io.shape, io.axis);
        assert.equal(found.length, whole[io.name].data.length, `${io.name} in round ${round}, ${i}`);
        const difference = worst(found, whole[io.name].data);
        assert.ok(difference <= (attends(each.name) ? 2e-5 : 0), `${io.name}: differs by ${difference}`);
      }
      stream.reset();
    }
    stream.close();
    bound.close();
    model.close();
  });
}

test("kernels use SIMD", async () => {
  const model = await load(readFileSync(new URL("vad_speech/model.nnef.tgz", kFolder)));
  const stream = model.pulse("S", 480);
  assert.equal(stream.runtime.text(stream.runtime.calls.web_tier()), "sse42");
});

test("ten minutes of sound leave the memory unchanged", async () => {
  const model = await load(readFileSync(new URL("vad_speech/model.nnef.tgz", kFolder)));
  const stream = model.pulse("S", 480);
  const block = Float32Array.from({ length: 480 }, (_, i) => Math.sin(i * 0.05));
  stream.push(block);
  const before = stream.runtime.calls.memory.buffer.byteLength;
  for (let i = 0; i < (600 * 16000) / 480; ++i) stream.push(block);
  assert.equal(stream.runtime.calls.memory.buffer.byteLength, before);
});

test("states and clones continue, and faults are reported", async () => {
  const bytes = readFileSync(new URL("vad_speech/model.nnef.tgz", kFolder));
  const model = await load(bytes);
  const stream = model.pulse("S", 480);
  const sound = Float32Array.from({ length: 4800 }, (_, i) => Math.sin(i * i * 1e-4));
  stream.push(sound.subarray(0, 1000));
  const copy = stream.clone();
  const state = stream.save();
  const rest = stream.push(sound.subarray(1000)).speech;
  assert.deepEqual(copy.push(sound.subarray(1000)).speech, rest);
  const other = model.pulse("S", 480);
  other.restore(state);
  assert.deepEqual(other.push(sound.subarray(1000)).speech, rest);

  const fails = (call, pattern) => assert.throws(call, (error) => {
    assert.ok(error instanceof RillError, String(error));
    assert.match(`${error.code}: ${error.message} ${error.hint}`, pattern);
    return true;
  });
  fails(() => stream.push([1, 2]), /argument.*Float32Array/);
  fails(() => stream.push(new Float64Array(3)), /Float32Array/);
  fails(() => other.restore(state.subarray(0, 20)), /./);
  fails(() => model.pulse("Q", 4), /symbol/);
  fails(() => model.pulse("S", 7), /160/);
  fails(() => model.run({}), /audio is missing/);
  fails(() => model.run(new Float32Array(10)), /S >= 160|expected/);
  stream.close();
  fails(() => stream.push(sound), /closed/);
  await assert.rejects(load(new Uint8Array(0)), RillError);
  await assert.rejects(load(new Uint8Array([1, 2, 3])), RillError);
  await assert.rejects(load(bytes.subarray(0, 5000)), RillError);
  await assert.rejects(load("model"), RillError);
  const damaged = new Uint8Array(bytes);
  damaged[damaged.length >> 1] ^= 255;
  await assert.rejects(load(damaged), RillError);
});

test("states of an ONNX file are fed back, by the library that reads ONNX", async () => {
  const model = await load(runningSum(), { constants: { gain: 3 } });
  assert.deepEqual(model.inputs.map((io) => io.name), ["x", "state"]);
  const stream = model.feedback({ state_out: "state" }).stream();
  assert.deepEqual([...stream.push(Float32Array.of(0, 1, 2, 3)).y], [0, 3, 6, 12]);
  const copy = stream.clone();
  assert.deepEqual([...copy.push(Float32Array.of(1, 1)).y], [9, 15]);
  await assert.rejects(load(runningSum(), { constants: { no: 3 } }), /not an input/);
  await assert.rejects(load(runningSum().subarray(0, 90)), RillError);
  await assert.rejects(load(new Uint8Array([8, 8, 0x3a])), RillError);
  assert.throws(() => model.feedback({ no: "state" }), RillError);
  assert.throws(() => model.context({ x: -1 }), RillError);
});

test("a profile names the nodes and leaves the stream unchanged", async () => {
  const model = await load(readFileSync(new URL("vad_speech/model.nnef.tgz", kFolder)));
  const [stream, other] = [model.pulse("S", 480), model.pulse("S", 480)];
  const sound = Float32Array.from({ length: 4800 }, (_, i) => Math.sin(i * i * 1e-4));
  stream.push(sound);
  other.push(sound);
  const profile = stream.profile(200);
  assert.ok(profile.some(({ op, us }) => op === "STFT" && us > 0));
  assert.equal(profile.length, stream.nodes.length);
  assert.deepEqual(stream.push(sound).speech, other.push(sound).speech);
});
