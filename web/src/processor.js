// The audio thread's half of RillNode and RillEffect. `process` creates no objects: everything is
// allocated before.

import { openStream } from "./compiled.js";
import { Effect } from "./effect.js";
import { loadInto } from "./rill.js";
import { Resampler } from "./resampler.js";
import { Runtime } from "./runtime.js";

const kQuantum = globalThis.renderQuantumSize ?? 128;
// Times of quanta are counted in steps of 10 us, up to 10 ms.
const kSteps = 1000;

/** The common part of both processors: messages of the page, times of quanta, failures. A subclass has `start`,
 *  `take` and `restart`. */
class ModelProcessor extends AudioWorkletProcessor {
  constructor(options) {
    super();
    this.failed = false;
    this.closed = false;
    this.times = new Uint32Array(kSteps + 1);
    this.clock = globalThis.performance ?? null;
    this.port.onmessage = (event) => this.receive(event.data);
    try {
      const { module, bytes, symbols, ...rest } = options.processorOptions;
      this.model = loadInto(new Runtime(module), bytes, symbols);
      const info = this.start(rest);
      this.port.postMessage({ kind: "ready", memory: this.stream.memory, bytes: this.bytes(),
                              streams: this.stream.streams, clock: this.clock !== null, ...info });
    } catch (error) {
      this.fail(error);
    }
  }

  bytes() {
    return this.stream.runtime.calls.memory.buffer.byteLength;
  }
  receive(message) {
    if (message.kind === "close") this.closed = true;
    if (this.failed) return;
    if (message.kind === "reset") this.restart();
    else if (message.kind === "bypass") this.bypass(message.on);
    else if (message.kind === "times") {
      this.port.postMessage({ kind: "times", times: this.times.slice(), step: 1e-5, bytes: this.bytes() });
    }
  }

  fail(error) {
    this.failed = true;
    const { code, detail, node, op, hint } = error;
    this.port.postMessage({ kind: "error", text: error.message, code, detail, node, op, hint });
  }

  process(inputs, outputs) {
    if (this.failed || this.closed) return false;
    const before = this.clock ? this.clock.now() : Date.now();
    this.take(inputs[0], outputs[0], inputs[1]);
    const after = this.clock ? this.clock.now() : Date.now();
    this.times[Math.min(kSteps, Math.floor((after - before) * 100))] += 1;
    return !this.failed;
  }
}

class RillProcessor extends ModelProcessor {
  start({ symbol, pulse, window, rate, output }) {
    this.stream = openStream(this.model, { symbol, pulse, window }, { maxPush: 4 * kQuantum });
    this.input = this.stream.direct(false);
    if (this.input.elements !== 1) {
      throw new Error(`the model takes ${this.input.elements} numbers a frame: expected samples`);
    }
    this.output = this.stream.direct(true, output);
    this.resampler = new Resampler(sampleRate, rate, kQuantum);
    this.samples = new Float32Array(this.resampler.maxSamples(kQuantum) + this.input.frames);
    this.mixed = new Float32Array(kQuantum);
    this.waiting = 0;
    const stream = this.stream.streams[this.stream.outputs.findIndex(
      (io) => io.name === this.output.name)];
    const perFrame = (stream.rateDenominator / stream.rateNumerator) / rate;
    this.given = 0;
    this.message = {
      kind: "frames",
      frame: 0,
      count: 0,
      // Frame f describes the sound up to `begin + (f + 1) * perFrame`.
      begin: currentTime - this.resampler.delay / sampleRate,
      perFrame,
      elements: this.output.elements,
      data: new (this.output.view.constructor)(this.output.view.length),
    };
    this.begun = false;
    return { output: this.output.name,
             delaySeconds: this.resampler.delay / sampleRate + stream.delayInputFrames / rate,
             pulseSeconds: stream.inputPulse / rate };
  }

  restart() {
    this.stream.reset();
    this.resampler.reset();
    this.waiting = 0;
    this.given = 0;
    this.begun = false;
  }

  take(channels) {
    if (channels.length === 0) return;
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
    const { view } = this.input;
    let used = 0;
    while (used < this.waiting) {
      const count = Math.min(this.waiting - used, this.input.frames);
      for (let i = 0; i < count; ++i) view[i] = this.samples[used + i];
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

class RillEffectProcessor extends ModelProcessor {
  start({ symbol, pulse, window, rate, output, channels }) {
    this.effect = new Effect(() => openStream(this.model, { symbol, pulse, window }), {
      deviceRate: sampleRate, modelRate: rate, channels, block: kQuantum, output,
    });
    const [run] = this.effect.runs;
    this.stream = run.stream;
    return { output: run.output.name, latency: this.effect.latency,
             latencySeconds: this.effect.latency / sampleRate, pulseSeconds: run.info.inputPulse / rate };
  }
  bypass(on) {
    this.effect.bypass(on);
  }
  restart() {
    this.effect.reset();
  }
  take(inputs, outputs, reference) {
    if (!this.effect.process(inputs, outputs, reference)) this.fail(this.effect.error());
  }
}

registerProcessor("rill", RillProcessor);
registerProcessor("rill-effect", RillEffectProcessor);
