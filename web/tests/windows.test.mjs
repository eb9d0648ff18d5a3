// Windows of whole runs, compared with the same function of each window in JavaScript.

import assert from "node:assert/strict";
import test from "node:test";

import { openStream } from "../dist/compiled.js";
import { Effect } from "../dist/effect.js";
import { RillError, load } from "../dist/node.js";

/** y is x less the largest x of the window; peak, without a frame axis, is a row per window. */
const peakOf = (outputs) => new TextEncoder().encode(`version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (${outputs})
{
  x = tract_core_external(shape = [S], datum_type = 'f32');
  most = max_reduce(x, axes = [0]);
  y = x - most;
  peak = squeeze(most, axes = [0]);
}
`);

/** The largest of frames [begin, begin + count), where frames beyond the sound are zeros. */
const largest = (sound, begin, count) => Math.max(
  ...Array.from({ length: count }, (_, i) => sound[begin + i] ?? 0));
const signal = (count) => Float32Array.from({ length: count }, (_, i) => ((i * 7) % 11) - 6);

test("a step computes the model over its window", async () => {
  const model = await load(peakOf("y, peak"));
  for (const [left, step, right] of [[5, 2, 3], [0, 4, 0], [0, 1, 7], [9, 3, 0]]) {
    const frames = left + step + right;
    const stream = model.window("S", left, step, right);
    assert.equal(stream.pulse, step);
    assert.equal(stream.delay, right);
    for (const count of [1, 2, 8, 23]) {
      const sound = signal(count);
      const found = { y: [], peak: [] };
      const keep = (out) => Object.entries(out).forEach(([name, data]) => found[name].push(...data));
      for (let at = 0; at < count; at += 3) keep(stream.push(sound.subarray(at, at + 3)));
      const copy = stream.clone();
      const last = stream.finish();
      assert.deepEqual(copy.finish(), last);
      keep(last);
      const where = `${left}, ${step}, ${right}, ${count} frames`;
      assert.deepEqual(found.y, Array.from(sound, (sample, i) => sample - largest(
        sound, Math.floor((i + right) / step) * step - right - left, frames)), where);
      assert.deepEqual(found.peak, Array.from({ length: Math.ceil(count / step) },
                                              (_, k) => largest(sound, (k + 1) * step - frames, frames)), where);
      stream.reset();
    }
    stream.close();
  }
  assert.throws(() => model.pulse("S", 2), /rill_model_window\(model, "S", left, step, right\)/);
  for (const wrong of [["S", 4, 0, 4], ["S", -1, 2, 4], ["Q", 4, 2, 4], ["S", 4, 1.5, 4], ["S", 4, NaN, 4]]) {
    assert.throws(() => model.window(...wrong), RillError, String(wrong));
  }
  model.close();
});

test("an effect plays windows, RIGHT frames later", async () => {
  const model = await load(peakOf("y"));
  const [left, step, right] = [40, 32, 24];
  const window = [left, step, right];
  const effect = new Effect(() => openStream(model, { window }),
                            { deviceRate: 16000, modelRate: 16000, channels: 1, block: 32 });
  assert.equal(effect.latency, right);
  const sound = signal(320);
  const out = new Float32Array(320);
  for (let at = 0; at < 320; at += 32) {
    assert.ok(effect.process([sound.subarray(at, at + 32)], [out.subarray(at, at + 32)]));
  }
  for (let i = right; i < 320; ++i) {
    const begin = Math.floor(i / step) * step - right - left;
    assert.equal(out[i], sound[i - right] - largest(sound, begin, left + step + right), `at ${i}`);
  }
  assert.throws(() => openStream(model, { pulse: 32, window }), /both a pulse and a window/);
  model.close();
});
