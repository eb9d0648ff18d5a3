// Compares resampled sines with sines at the other rate.

import assert from "node:assert/strict";
import test from "node:test";

import { Resampler } from "../dist/resampler.js";

/** Resample a sine in blocks; return the largest difference from the sine at the other rate. */
function largestDifference(from, to, hertz, blocks) {
  const resampler = new Resampler(from, to, Math.max(...blocks));
  const length = from;
  const out = new Float32Array(resampler.maxSamples(length) + blocks.length + 8);
  const input = Float32Array.from({ length }, (_, i) => Math.sin((2 * Math.PI * hertz * i) / from));
  let made = 0;
  for (let at = 0, block = 0; at < length; ++block) {
    const count = Math.min(blocks[block % blocks.length], length - at);
    made += resampler.process(input.subarray(at, at + count), count, out, made);
    at += count;
  }
  assert.ok(Math.abs(made - to) <= resampler.maxSamples(resampler.delay) + 1, `${made} samples of ${to}`);
  let worst = 0;
  const ratio = from / to;
  for (let i = Math.ceil((4 * resampler.delay) / ratio); i < made; ++i) {
    const at = i * ratio - resampler.delay;
    worst = Math.max(worst, Math.abs(out[i] - Math.sin((2 * Math.PI * hertz * at) / from)));
  }
  return worst;
}

for (const [from, to] of [[48000, 16000], [44100, 16000], [8000, 16000], [16000, 48000],
                          [22050, 16000], [96000, 16000], [11025, 48000], [44100, 48000]]) {
  test(`${from} to ${to} keeps the tones that both rates can carry`, () => {
    const most = 0.85 * 0.5 * Math.min(from, to);
    for (const hertz of [0.1 * most, 0.5 * most, most]) {
      const found = largestDifference(from, to, hertz, [128]);
      assert.ok(found < 2e-3, `${hertz} Hz: ${found}`);
    }
  });
}

test("tones above the Nyquist frequency of the lower rate are removed", () => {
  const resampler = new Resampler(48000, 16000, 4800);
  const out = new Float32Array(2000);
  const input = Float32Array.from({ length: 4800 }, (_, i) => Math.sin((2 * Math.PI * 9500 * i) / 48000));
  const made = resampler.process(input, 4800, out);
  assert.ok(out.subarray(200, made).every((x) => Math.abs(x) < 1e-3));
});

test("blocks of any size give the same samples", () => {
  const input = Float32Array.from({ length: 9600 }, (_, i) => Math.sin(i * i * 1e-4));
  const run = (blocks) => {
    const resampler = new Resampler(44100, 16000, 9600);
    const out = new Float32Array(5000);
    let made = 0;
    for (let at = 0, block = 0; at < input.length; ++block) {
      const count = Math.min(blocks[block % blocks.length], input.length - at);
      made += resampler.process(input.subarray(at), count, out, made);
      at += count;
    }
    return out.subarray(0, made);
  };
  assert.deepEqual(run([1]), run([9600]));
  assert.deepEqual(run([128]), run([7, 0, 1000, 3]));
});

test("equal rates change nothing", () => {
  const resampler = new Resampler(16000, 16000, 4);
  const out = new Float32Array(4);
  assert.equal(resampler.process(Float32Array.of(1, 2, 3, 4), 4, out), 4);
  assert.deepEqual(out, Float32Array.of(1, 2, 3, 4));
});

test("invalid rates are refused", () => {
  for (const [from, to] of [[0, 1], [-1, 16000], [NaN, 16000], [16000, 1e9]]) {
    assert.throws(() => new Resampler(from, to, 128), RangeError);
  }
});
