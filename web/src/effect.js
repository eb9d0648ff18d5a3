// Sound through a model: each block outputs as many frames as it takes, delayed by a fixed number of frames.

import { misuse } from "./runtime.js";
import { Resampler } from "./resampler.js";

const kNone = [];

/** A ring of samples of one channel. */
class Ring {
  constructor(size) {
    this.data = new Float32Array(size);
    this.first = 0;
    this.held = 0;
  }
  /** Begin with `silence` zeros. */
  reset(silence) {
    this.data.fill(0);
    this.first = 0;
    this.held = silence;
  }
  /** Add samples; false if they do not fit. */
  add(samples, count) {
    const size = this.data.length;
    if (this.held + count > size) return false;
    for (let i = 0, at = (this.first + this.held) % size; i < count; ++i) {
      this.data[at] = samples[i];
      if (++at === size) at = 0;
    }
    this.held += count;
    return true;
  }
  /** Take samples; false if there are too few. */
  take(samples, count) {
    if (this.held < count) return false;
    const size = this.data.length;
    for (let i = 0; i < count; ++i) {
      samples[i] = this.data[this.first];
      if (++this.first === size) this.first = 0;
    }
    this.held -= count;
    return true;
  }
}

/** One input of a stream, and the resamplers of its channels. */
class Intake {
  constructor(input, from, to, block) {
    this.input = input;
    this.lanes = input.elements;
    const lanes = Array.from({ length: this.lanes });
    this.resamplers = lanes.map(() => new Resampler(from, to, block, true));
    const most = this.resamplers[0].maxSamples(block);
    this.rows = lanes.map(() => new Float32Array(most));
    this.taken = 0;
  }

  /** Resample a block of the channels, beginning with `channel`. Return the number of frames of the model. */
  hear(channels, channel, count) {
    this.taken = 0;
    let given = 0;
    for (let lane = 0; lane < this.lanes; ++lane) {
      given = this.resamplers[lane].process(channels[channel + lane], count, this.rows[lane]);
    }
    return given;
  }
  /** Push frames up to `given`. Return the number that the stream took, or a failure below 0. */
  push(given) {
    const { input, rows, taken } = this;
    const part = Math.min(given - taken, input.frames);
    if (part === 0) return 0;
    const { view } = input;
    for (let lane = 0; lane < this.lanes; ++lane) {
      const place = Math.floor(lane / input.inner) * part * input.inner + (lane % input.inner);
      for (let i = 0; i < part; ++i) view[place + i * input.inner] = rows[lane][taken + i];
    }
    // The layout of a partly taken piece depends on its length: write the rest again.
    const count = input.move(part);
    if (count > 0) this.taken += count;
    return count;
  }
  reset() {
    for (const each of this.resamplers) each.reset();
  }
}

/** A stream, and the resamplers of its inputs and of its output. */
class EffectRun {
  constructor(stream, from, to, block, name) {
    this.stream = stream;
    const names = stream.inputs.filter((io) => io.axis >= 0).map((io) => io.name);
    this.input = stream.direct(false);
    this.output = stream.direct(true, name);
    this.info = stream.streams[stream.outputs.findIndex((io) => io.name === this.output.name)];
    const { input, output, info } = this;
    if (stream.streams.length < 1 || names.length < 1 || names.length > 2) {
      throw misuse("an effect needs a model with one input that streams, or two");
    }
    const inputs = names.map((each) => stream.direct(false, each));
    if (![...inputs, output].every(({ view }) => view instanceof Float32Array)) {
      throw misuse("an effect needs inputs and an output of type f32");
    }
    if (inputs.some(({ frames }) => frames !== input.frames)) {
      throw misuse("an effect needs inputs with the same number of frames");
    }
    if (output.elements !== input.elements) {
      throw misuse(`an effect needs a channel of output ${output.name} for each of the input, found ` +
                   `${output.elements} channels for ${input.elements}`);
    }
    // Models of bandwidth extension have outputs of another rate; features are not sound.
    const ratio = info.rateNumerator / info.rateDenominator;
    const back = (to * info.rateNumerator) / info.rateDenominator;
    if (!(ratio >= 1 / 8 && ratio <= 8 && Number.isInteger(back))) {
      throw misuse("an effect needs a whole rate of 1/8 to 8 of the input's, found " +
                   `${info.rateNumerator}/${info.rateDenominator}`);
    }
    this.lanes = input.elements;
    const lanes = Array.from({ length: this.lanes });
    this.intakes = inputs.map((each) => new Intake(each, from, to, block));
    this.outlets = lanes.map(() => new Resampler(back, from, output.frames, true));
    this.chunk = new Float32Array(output.frames);
    this.resampled = new Float32Array(this.outlets[0].maxSamples(output.frames));
  }

  /** Queue the model's output in rings, which begin with `latency` frames of silence. */
  hold(latency, block) {
    this.latency = latency;
    // One block for frames that are not due yet, and 2 for the rounding of counts.
    this.rings = this.outlets.map(() => new Ring(latency + block + 2));
    this.rings.forEach((ring) => ring.reset(latency));
  }

  /** Push a block of the channels, beginning with `channel`, and of the reference; false if a step fails. */
  take(channels, channel, reference, count) {
    const { intakes } = this;
    const given = intakes[0].hear(channels, channel, count);
    if (intakes.length > 1) intakes[1].hear(reference, 0, count);
    for (let left = given > 0; left;) {
      let moved = 0;
      left = false;
      for (let i = 0; i < intakes.length; ++i) {
        const taken = intakes[i].push(given);
        if (taken < 0) return false;
        moved += taken;
        left = left || intakes[i].taken < given;
      }
      const pulled = this.pull();
      if (pulled < 0 || moved + pulled === 0) return false;
    }
    return this.pull() >= 0;
  }
  /** Move all ready frames to the rings. Return their number, or -1. */
  pull() {
    const { output, chunk } = this;
    const { view } = output;
    for (let all = 0; ;) {
      const count = output.move();
      if (count <= 0) return count < 0 ? count : all;
      for (let lane = 0; lane < this.lanes; ++lane) {
        const place = Math.floor(lane / output.inner) * output.frames * output.inner + (lane % output.inner);
        for (let i = 0; i < count; ++i) chunk[i] = view[place + i * output.inner];
        const made = this.outlets[lane].process(chunk, count, this.resampled);
        if (!this.rings[lane].add(this.resampled, made)) return -1;
      }
      all += count;
    }
  }
  reset() {
    this.stream.reset();
    for (const each of [...this.intakes, ...this.outlets]) each.reset();
    for (const ring of this.rings) ring.reset(this.latency);
  }
}

/** Return the largest number of device frames that went in without their output having come out, over the ends
 *  of all blocks. */
function latencyOf({ intakes: [{ resamplers: [intake] }], outlets: [outlet], info }, block) {
  const pulse = info.inputPulse;
  const heard = (steps) => outlet.count(Math.max(0, steps * info.pulse - info.delay));
  const common = (a, b) => (b === 0 ? a : common(b, a % b));
  // The steps until both resamplers give frames, then one period of the relative positions of blocks and pulses.
  const begun = Math.floor((info.delay + outlet.lookahead) / info.pulse) + 2;
  const period = intake.down * (pulse / common(intake.up, pulse));
  const last = Math.floor(intake.needed((begun + 1) * pulse) / block) + 1 + period / common(period, block);
  let most = 0;
  for (let blocks = 1; blocks <= last; ++blocks) {
    const steps = Math.floor(intake.count(blocks * block) / pulse);
    most = Math.max(most, blocks * block - heard(steps));
  }
  return most;
}

/** Plays output `output` of a model on the sound of a device. A model of one channel runs on each channel;
 *  other models have as many channels as the device. A second input that streams gets a reference, such as the
 *  output of the loudspeaker, of as many channels; if it has one channel, their mean. `process` creates no
 *  objects and does not throw. */
export class Effect {
  /** @param {() => object} open makes a new stream of the model
   *  @param {{deviceRate: number, modelRate: number, channels: number, block: number, output?: string}} options
   *    rates in whole Hz; `block`: frames of every call of `process` */
  constructor(open, { deviceRate, modelRate, channels, block, output }) {
    if (!Number.isInteger(deviceRate) || !Number.isInteger(modelRate)) {
      throw misuse(`an effect needs rates in whole Hz, found ${deviceRate} and ${modelRate}`);
    }
    const make = () => new EffectRun(open(), deviceRate, modelRate, block, output);
    const first = make();
    if (first.lanes !== 1 && first.lanes !== channels) {
      throw misuse(`the model has ${first.lanes} channels, and the effect ${channels}`,
                   `Pass {channels: ${first.lanes}}`);
    }
    /** Whether the model needs a reference. */
    this.reference = first.intakes.length > 1;
    const second = this.reference ? first.intakes[1].lanes : 1;
    if (second !== 1 && second !== channels) {
      throw misuse(`the second input of the model has ${second} channels, and the effect ${channels}`);
    }
    this.block = block;
    this.runs = [first];
    while (this.runs.length * first.lanes < channels) this.runs.push(make());
    /** Frames of the device by which the output lags: exact, and the least possible for this block. */
    this.latency = latencyOf(first, block);
    for (const run of this.runs) run.hold(this.latency, block);
    this.dry = Array.from({ length: channels }, () => new Ring(this.latency + block));
    this.late = new Float32Array(block);
    this.silence = new Float32Array(block);
    this.heard = Array.from({ length: channels }, () => this.silence);
    this.played = Array.from({ length: second }, () => this.silence);
    this.mean = second === 1 && channels > 1 ? new Float32Array(block) : null;
    this.bypassed = false;
    // The share of the delayed input in the output, of `fade` frames.
    this.fade = Math.floor(deviceRate / 200) + 1;
    this.share = 0;
    this.dry.forEach((ring) => ring.reset(this.latency));
  }

  /** Play the input, with the latency of the output, or the output. The change fades over 5 ms. */
  bypass(on) {
    this.bypassed = on;
  }

  /** Pass a block of `block` frames through the model. Missing channels of `inputs` and of `reference` are
   *  silence. Return whether it succeeded; after a failure the output is silence. */
  process(inputs, outputs, reference = kNone) {
    const { block, heard, dry } = this;
    if (this.reference) this.play(reference);
    for (let c = 0; c < heard.length; ++c) {
      heard[c] = inputs[c] ?? this.silence;
      dry[c].add(heard[c], block);
    }
    let channel = 0;
    for (let r = 0; r < this.runs.length; ++r) {
      const run = this.runs[r];
      let well = run.take(heard, channel, this.played, block);
      for (let lane = 0; lane < run.lanes; ++lane) well = run.rings[lane].take(outputs[channel++], block) && well;
      if (!well) {
        for (let c = 0; c < outputs.length; ++c) outputs[c].fill(0);
        return false;
      }
    }
    this.mix(outputs);
    return true;
  }

  /** Set `played` to the channels of the reference, or to their mean. */
  play(reference) {
    const { block, played, mean } = this;
    for (let c = 0; c < played.length; ++c) played[c] = reference[c] ?? this.silence;
    if (mean === null || reference.length < 2) return;
    const share = 1 / reference.length;
    for (let i = 0; i < block; ++i) {
      let sum = 0;
      for (let c = 0; c < reference.length; ++c) sum += reference[c][i];
      mean[i] = sum * share;
    }
    played[0] = mean;
  }

  mix(outputs) {
    const { block, fade, late } = this;
    const goal = this.bypassed ? fade : 0;
    let share = this.share;
    for (let c = 0; c < this.dry.length; ++c) {
      this.dry[c].take(late, block);
      share = this.share;
      if (share === 0 && goal === 0) continue;
      const out = outputs[c];
      for (let i = 0; i < block; ++i) {
        if (share !== goal) share += share < goal ? 1 : -1;
        if (share === fade) out[i] = late[i];
        else if (share > 0) out[i] += ((late[i] - out[i]) * share) / fade;
      }
    }
    this.share = share;
  }

  /** Return to the state of a new effect. */
  reset() {
    for (const run of this.runs) run.reset();
    for (const ring of this.dry) ring.reset(this.latency);
    this.share = this.bypassed ? this.fade : 0;
  }
  /** The error of a failure of `process`. */
  error() {
    return this.runs[0].stream.error();
  }
}
