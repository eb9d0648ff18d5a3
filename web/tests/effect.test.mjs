// Compares the effect with the sums that its models compute, and its latency with that of sines and silences.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Effect } from "../dist/effect.js";
import { load } from "../dist/node.js";
import { kFolder, random } from "./models.mjs";

const kHalf = Math.fround(0.5);
const kQuarter = Math.fround(0.25);

/** A model of y(t) = x(t) / 2 + x(t + ahead) / 4 along axis `axis` of extent S. */
function sumAhead(ahead, { before = "", after = "", axis = 0, rank = 1 } = {}) {
  const pads = Array.from({ length: rank }, (_, i) => (i === axis ? `(0, ${ahead})` : "(0, 0)")).join(", ");
  const later = ahead === 0 ? "x" : "ahead";
  return new TextEncoder().encode(`version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{
  x = tract_core_external(shape = [${before}S${after}], datum_type = 'f32');
  padded = pad(x, padding = [${pads}], border = 'constant', value = 0.0);
  ahead = slice(padded, axes = [${axis}], begin = [${ahead}], end = [0]);
  half = x * 0.5;
  quarter = ${later} * 0.25;
  y = half + quarter;
}
`);
}
const sumOf = (sound, ahead, at) => Math.fround(
  Math.fround(kHalf * (sound[at] ?? 0)) + Math.fround(kQuarter * (sound[at + ahead] ?? 0)));

function noise(count, seed) {
  const draw = random(seed);
  return Float32Array.from({ length: count }, () => draw() - 0.5);
}

const common = (a, b) => (b === 0 ? a : common(b, a % b));

/** Pass channels through an effect in its blocks. */
function pass(effect, channels, { change = () => {} } = {}) {
  const { block } = effect;
  const out = channels.map((channel) => new Float32Array(channel.length));
  let least = Infinity;
  for (let at = 0; at + block <= channels[0].length; at += block) {
    change(at, effect);
    const well = effect.process(channels.map((each) => each.subarray(at, at + block)),
                                out.map((each) => each.subarray(at, at + block)));
    assert.ok(well, `at ${at}`);
    least = Math.min(least, ...effect.runs.flatMap((run) => run.rings.map((ring) => ring.held)));
  }
  return { out, least };
}

test("at the rate of the model, the output is the whole run, bit for bit, after the least latency", async () => {
  for (const ahead of [0, 1, 40, 333]) {
    const model = await load(sumAhead(ahead));
    for (const pulse of [1, 2, 100, 128, 160, 256, 480]) {
      for (const block of [128, 64, 100]) {
        const effect = new Effect(() => model.pulse("S", pulse),
                                  { deviceRate: 16000, modelRate: 16000, channels: 1, block });
        assert.equal(effect.latency, pulse - common(pulse, block) + ahead, `${ahead}, ${pulse}, ${block}`);
        const sound = noise(40 * block + 2000 - (2000 % block), ahead * 1000 + pulse);
        const { out: [found], least } = pass(effect, [sound]);
        assert.equal(least, 0);
        for (let i = 0; i < found.length; ++i) {
          const want = i < effect.latency ? 0 : sumOf(sound, ahead, i - effect.latency);
          assert.ok(Object.is(found[i] + 0, want + 0), `${ahead}, ${pulse}, ${block}: ${found[i]} at ${i}, not ${want}`);
        }
      }
    }
    model.close();
  }
});

test("at other rates, sines have the reported latency, which is the least", async () => {
  for (const [device, rate] of [[48000, 16000], [44100, 16000], [16000, 48000], [8000, 16000], [44100, 48000],
                                [48000, 44100], [96000, 16000], [22050, 24000]]) {
    for (const [pulse, ahead] of [[160, 0], [480, 0], [100, 37], [1, 5]]) {
      const model = await load(sumAhead(ahead));
      const effect = new Effect(() => model.pulse("S", pulse),
                                { deviceRate: device, modelRate: rate, channels: 1, block: 128 });
      // One common period of blocks, pulses and rates, so that all their relative positions occur.
      const [{ intakes: [{ resamplers: [{ up, down }] }] }] = effect.runs;
      const period = down * (pulse / common(up, pulse));
      const phases = 128 * (period / common(period, 128));
      const length = 128 * Math.ceil((2 * effect.latency + Math.max(phases, device / 8)) / 128);
      const hertz = 0.3 * Math.min(device, rate) / 2;
      const sine = (t) => Math.sin(2 * Math.PI * hertz * t);
      const sound = Float32Array.from({ length }, (_, i) => sine(i / device));
      const { out: [found], least } = pass(effect, [sound]);
      assert.equal(least, 0, `${device}, ${rate}, ${pulse}: frames left`);
      // Skip the beginning, where the filters have seen only a part of the sine.
      const begin = effect.latency + Math.ceil(70 * Math.max(1, device / rate)) + 200;
      for (let i = begin; i < length; ++i) {
        const t = (i - effect.latency) / device;
        const want = 0.5 * sine(t) + 0.25 * sine(t + ahead / rate);
        // Twice the ripple of a resampler's pass band.
        assert.ok(Math.abs(found[i] - want) < 4e-3, `${device}, ${rate}, ${pulse}, ${ahead}: ${found[i]} at ${i}, not ${want}`);
      }
      assert.ok(found.subarray(0, Math.max(0, effect.latency - 150 * Math.ceil(device / rate)))
        .every((value) => Math.abs(value) < 1e-2));
      model.close();
    }
  }
});

test("a model of one channel runs on each channel, and a model of several takes all", async () => {
  const shapes = [[{}, 2], [{ before: "2, ", axis: 1, rank: 2 }, 2], [{ after: ", 3", axis: 0, rank: 2 }, 3],
                  [{ before: "2, ", after: ", 2", axis: 1, rank: 3 }, 4]];
  for (const [shape, channels] of shapes) {
    const model = await load(sumAhead(7, shape));
    const effect = new Effect(() => model.pulse("S", 96), { deviceRate: 16000, modelRate: 16000, channels, block: 128 });
    const sound = Array.from({ length: channels }, (_, c) => noise(128 * 30, c));
    const { out } = pass(effect, sound);
    out.forEach((found, c) => {
      for (let i = effect.latency; i < found.length; ++i) {
        assert.equal(found[i], sumOf(sound[c], 7, i - effect.latency), `channel ${c} at ${i}`);
      }
    });
    model.close();
  }
});

test("a second input is heard in the frame in which it plays", async () => {
  const kForms = [["", "", 1], ["", "", 2], ["2, ", "", 2], ["2, ", "2, ", 2]];
  for (const [first, second, channels] of kForms) {
    const model = await load(new TextEncoder().encode(`version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x, r) -> (y)
{
  x = tract_core_external(shape = [${first || "1, "}S], datum_type = 'f32');
  r = tract_core_external(shape = [${second || "1, "}S], datum_type = 'f32');
  half = x * 0.5;
  quarter = r * 0.25;
  y = half + quarter;
}
`));
    for (const pulse of [1, 50, 128, 300]) {
      const effect = new Effect(() => model.pulse("S", pulse),
                                { deviceRate: 16000, modelRate: 16000, channels, block: 128 });
      assert.ok(effect.reference);
      const sound = Array.from({ length: channels }, (_, c) => noise(128 * 30, c));
      const played = Array.from({ length: channels }, (_, c) => noise(128 * 30, c + 9));
      const mean = played[0].map((value, i) => (channels === 1 ? value : (value + played[1][i]) * 0.5));
      const out = sound.map((each) => new Float32Array(each.length));
      for (let at = 0; at < 128 * 30; at += 128) {
        const part = (all) => all.map((each) => each.subarray(at, at + 128));
        assert.ok(effect.process(part(sound), part(out), part(played)));
      }
      for (let c = 0; c < channels; ++c) {
        for (let i = effect.latency; i < out[c].length; ++i) {
          const from = i - effect.latency;
          const heard = second ? played[c][from] : mean[from];
          const want = Math.fround(Math.fround(kHalf * sound[c][from]) + Math.fround(kQuarter * heard));
          assert.equal(out[c][i], want, `${first}, ${second}, ${pulse}: channel ${c} at ${i}`);
        }
      }
      effect.reset();
      const silent = sound.map(() => new Float32Array(128));
      assert.ok(effect.process([], silent) && silent.every((each) => each.every((value) => value === 0)));
    }
    model.close();
  }
});

test("bypass plays the input with the latency of the output, and fades without a click", async () => {
  const model = await load(sumAhead(20));
  const effect = new Effect(() => model.pulse("S", 160), { deviceRate: 48000, modelRate: 48000, channels: 1, block: 128 });
  const sound = noise(128 * 60, 3);
  const { out: [found] } = pass(effect, [sound], {
    change: (at, each) => each.bypass(at >= 128 * 20 && at < 128 * 40),
  });
  for (let i = effect.latency; i < found.length; ++i) {
    const from = i - effect.latency;
    const wet = sumOf(sound, 20, from);
    if (i < 128 * 20 || i >= 128 * 40 + 241) assert.equal(found[i], wet, `at ${i}`);
    else if (i >= 128 * 20 + 241 && i < 128 * 40) assert.equal(found[i], sound[from], `at ${i}`);
    else assert.ok(found[i] >= Math.min(wet, sound[from]) - 1e-6 && found[i] <= Math.max(wet, sound[from]) + 1e-6);
  }
  model.close();
});

test("a reset effect gives the bits of a new one, and no input is silence", async () => {
  const model = await load(sumAhead(11));
  const options = { deviceRate: 44100, modelRate: 16000, channels: 1, block: 128 };
  const effect = new Effect(() => model.pulse("S", 160), options);
  const sound = noise(128 * 40, 9);
  const { out: [first] } = pass(effect, [sound]);
  effect.reset();
  assert.deepEqual(pass(effect, [sound]).out[0], first);
  effect.reset();
  const silent = [new Float32Array(128)];
  for (let i = 0; i < 30; ++i) assert.ok(effect.process([], silent) && silent[0].every((value) => value === 0));
  model.close();
});

test("impossible effects are refused with a reason", async () => {
  const model = await load(sumAhead(0, { before: "2, ", axis: 1, rank: 2 }));
  const make = (options) => () => new Effect(() => model.pulse("S", 100),
                                             { deviceRate: 48000, modelRate: 16000, channels: 2, block: 128, ...options });
  assert.doesNotThrow(make({}));
  assert.throws(make({ channels: 1 }), /2 channels/);
  assert.throws(make({ deviceRate: 44100.5 }), /whole Hz/);
  assert.throws(make({ modelRate: 0 }), /rates/);
  assert.throws(make({ output: "z" }), /no output z/);
  model.close();
  // Features of a listener are not sound.
  const vad = await load(readFileSync(new URL("vad_speech/model.nnef.tgz", kFolder)), { symbols: { B: 1 } });
  assert.throws(() => new Effect(() => vad.pulse("S", 480), { deviceRate: 48000, modelRate: 16000, channels: 1, block: 128 }),
                /1\/160/);
  vad.close();
});

test("outputs of another rate come back at the rate of the device", async () => {
  const rates = [["deconv(x, kernel, 0.0, stride = [2])", "[[[1.0, 1.0]]]", 2], ["conv(x, kernel, 0.0, stride = [2])", "[[[1.0]]]", 1 / 2]];
  for (const [layer, kernel, ratio] of rates) {
    const model = await load(new TextEncoder().encode(`version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{
  x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');
  kernel = ${kernel};
  y = ${layer};
}
`));
    for (const device of [16000, 48000, 44100]) {
      const effect = new Effect(() => model.pulse("S", 160), { deviceRate: device, modelRate: 16000, channels: 1, block: 128 });
      const sine = (t) => Math.sin(2 * Math.PI * 300 * t);
      const sound = Float32Array.from({ length: 128 * 100 }, (_, i) => sine(i / device));
      const { out: [found] } = pass(effect, [sound]);
      // Repeating each sample at 32 kHz averages 2 neighbours: half a sample late, and weaker by a cosine.
      const late = ratio === 2 ? 0.5 / 32000 : 0;
      const gain = ratio === 2 ? Math.cos((Math.PI * 300) / 32000) : 1;
      // At higher device rates, the image of the sine at 15700 Hz remains.
      const image = ratio === 2 && device > 16000 ? Math.cos((Math.PI * 15700) / 32000) : 0;
      for (let i = effect.latency + 800; i < found.length; ++i) {
        const want = gain * sine((i - effect.latency) / device - late);
        assert.ok(Math.abs(found[i] - want) < 4e-3 + image, `${ratio}, ${device}: ${found[i]} at ${i}, not ${want}`);
      }
    }
    model.close();
  }
});
