// The audio thread's half of RillNode. `process` makes no object: all that it needs is there before.

import { openStream } from "./compiled.js";
import { loadInto } from "./rill.js";
import { Resampler } from "./resampler.js";
import { Runtime } from "./runtime.js";

const kQuantum = 128;
// Times of quanta are counted in steps of 10 us, up to 10 ms.
const kSteps = 1000;

class RillProcessor extends AudioWorkletProcessor {
  constructor(options) {
    super();
    this.failed = false;
    this.port.onmessage = (event) => this.told(event.data);
    try {
      this.start(options.processorOptions);
    } catch (error) {
      this.fail(error);
    }
  }

  start({ module, bytes, symbols, symbol, pulse, rate, output }) {
    const model = loadInto(new Runtime(module), bytes, symbols);
    this.stream = openStream(model, symbol, pulse, { maxPush: 4 * kQuantum });
    this.input = this.stream.direct(false);
    if (this.input.elements !== 1) {
      throw new Error(`the model takes ${this.input.elements} numbers a frame: expected samples`);
    }
    this.output = this.stream.direct(true, output);
    this.resampler = new Resampler(sampleRate, rate, kQuantum);
    this.samples = new Float32Array(this.resampler.room(kQuantum) + this.input.frames);
    this.mixed = new Float32Array(kQuantum);
    this.waiting = 0;
    this.times = new Uint32Array(kSteps + 1);
    this.clock = globalThis.performance ?? null;
    const stream = this.stream.streams[this.stream.outputs.findIndex(
      (io) => io.name === this.output.name)];
    const perFrame = (stream.rateDenominator / stream.rateNumerator) / rate;
    this.given = 0;
    this.message = {
      kind: "frames",
      frame: 0,
      count: 0,
      // Frame f stands for the sound up to `begin + (f + 1) * perFrame`.
      begin: currentTime - this.resampler.delay / sampleRate,
      perFrame,
      elements: this.output.elements,
      data: new (this.output.view.constructor)(this.output.view.length),
    };
    this.begun = false;
    this.port.postMessage({
      kind: "ready", output: this.output.name, streams: this.stream.streams,
      memory: this.stream.memory, bytes: this.stream.runtime.calls.memory.buffer.byteLength,
      delaySeconds: this.resampler.delay / sampleRate + stream.delayInputFrames / rate,
      pulseSeconds: stream.inputPulse / rate, clock: this.clock !== null,
    });
  }

  told(message) {
    if (message.kind === "reset" && !this.failed) {
      this.stream.reset();
      this.resampler.reset();
      this.waiting = 0;
      this.given = 0;
      this.begun = false;
    } else if (message.kind === "times" && !this.failed) {
      this.port.postMessage({ kind: "times", times: this.times.slice(), step: 1e-5,
                              bytes: this.stream.runtime.calls.memory.buffer.byteLength });
    } else if (message.kind === "close") {
      this.closed = true;
    }
  }

  fail(error) {
    this.failed = true;
    const { code, detail, node, op, hint } = error;
    this.port.postMessage({ kind: "error", text: error.message, code, detail, node, op, hint });
  }

  process(inputs) {
    if (this.failed || this.closed) return false;
    const channels = inputs[0];
    const before = this.clock ? this.clock.now() : Date.now();
    if (channels.length > 0) this.take(channels);
    const after = this.clock ? this.clock.now() : Date.now();
    this.times[Math.min(kSteps, Math.floor((after - before) * 100))] += 1;
    return !this.failed;
  }

  take(channels) {
    if (!this.begun) {
      this.begun = true;
      this.message.begin = currentTime - this.resampler.delay / sampleRate;
    }
    const { mixed } = this;
    for (let i = 0; i < kQuantum; ++i) {
      let sum = 0;
      for (let c = 0; c < channels.length; ++c) sum += channels[c][i];
      mixed[i] = sum / channels.length;
    }
    this.waiting += this.resampler.process(mixed, kQuantum, this.samples, this.waiting);
    let used = 0;
    while (used < this.waiting) {
      const count = Math.min(this.waiting - used, this.input.frames);
      for (let i = 0; i < count; ++i) this.input.view[i] = this.samples[used + i];
      const taken = this.input.move(count);
      const pulled = this.hand();
      if (taken < 0 || pulled < 0) return this.fail(this.stream.error());
      if (taken === 0 && pulled === 0) break;
      used += taken;
    }
    this.samples.copyWithin(0, used, this.waiting);
    this.waiting -= used;
  }

  hand() {
    const count = this.output.move();
    if (count <= 0) return count;
    const { message } = this;
    message.frame = this.given;
    message.count = count;
    message.data.set(this.output.view);
    this.given += count;
    this.port.postMessage(message);
    return count;
  }
}

registerProcessor("rill", RillProcessor);
