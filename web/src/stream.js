// Streams.

import { Run, arrayOf, volume } from "./run.js";
import { misuse } from "./runtime.js";

/** One stream: frames go in a few at a time, and frames of the whole run come out. */
export class Stream extends Run {
  #slots = [];

  constructor(runtime, handle) {
    super(runtime, handle);
    if (!this.streams.some((stream) => stream.input >= 0)) {
      throw misuse("the model does not stream");
    }
    const sides = [[this.inputs, false], [this.outputs, true]];
    for (const [list, output] of sides) {
      list.forEach((io, index) => {
        if (io.axis < 0) return;
        const frames = io.shape[io.axis];
        const elements = volume(io.shape) / frames;
        const array = arrayOf(io);
        const bytes = elements * array.BYTES_PER_ELEMENT;
        // Frames pass through a buffer of the stream, with contiguous rows.
        const at = runtime.alloc(Math.max(1, frames * bytes));
        this.#slots.push({ io, output, index, frames, elements, array, at, view: null });
      });
    }
  }

  /** Frames by which the first output lags the input. */
  get delay() {
    return this.streams[0].delay;
  }
  /** Frames of the first input that one step takes. */
  get pulse() {
    return this.streams[0].inputPulse;
  }
  /** The latency of each output in frames of the input: the delay, and with the wait for a full pulse. */
  latency() {
    return this.streams.map((stream, i) => ({
      output: this.outputs[i].name,
      delayFrames: stream.delayInputFrames,
      mostFrames: stream.delayInputFrames + stream.inputPulse - 1,
    }));
  }

  #inputs() {
    return this.#slots.filter((slot) => !slot.output);
  }
  #view(slot) {
    // The view is invalid after the memory has grown, which steps never do.
    if (slot.view?.buffer !== this.runtime.calls.memory.buffer) {
      slot.view = new slot.array(this.runtime.calls.memory.buffer, slot.at,
                                 slot.frames * slot.elements);
    }
    return slot.view;
  }

  /** Set a static input for the next and all later steps. */
  set(name, data) {
    const index = this.inputs.findIndex((io) => io.name === name && io.axis < 0);
    if (index < 0) throw misuse(`no input ${name} that does not stream`);
    const buffer = this.buffer(false, index);
    if (buffer.length !== data.length) {
      throw misuse(`input ${name}: expected ${buffer.length} elements, found ${data.length}`);
    }
    buffer.set(data);
  }

  /** Push frames: of one input as a typed array, or of several by name, with contiguous rows. Return
   *  {name: typed array} with the frames that are ready. */
  push(frames) {
    this.open();
    const parts = this.#outputs();
    const places = this.#inputs();
    if (ArrayBuffer.isView(frames) && places.length !== 1) {
      throw misuse(`${places.length} inputs stream`, "Pass them by their names");
    }
    const sources = places.map((slot) => {
      const data = ArrayBuffer.isView(frames) ? frames : frames?.[slot.io.name];
      if (!data || data.constructor !== slot.array || data.length % slot.elements !== 0) {
        throw misuse(`input ${slot.io.name}: expected a ${slot.array.name} of a multiple of ` +
                     `${slot.elements} elements`);
      }
      return { slot, data, at: 0, frames: data.length / slot.elements };
    });
    while (sources.some((source) => source.at < source.frames)) {
      let moved = 0;
      for (const source of sources) moved += this.#pushSome(source);
      moved += this.#pull(parts);
      if (moved === 0) throw misuse("an input ends before the others", "Push as much of each");
    }
    this.#pull(parts);
    return this.#joined(parts);
  }

  #pushSome(source) {
    const { slot, data, frames } = source;
    const outer = volume(slot.io.shape.slice(0, slot.io.axis));
    const inner = slot.elements / outer;
    const count = Math.min(slot.frames, frames - source.at);
    if (count === 0) return 0;
    const view = this.#view(slot);
    for (let row = 0; row < outer; ++row) {
      const from = (row * frames + source.at) * inner;
      view.set(data.subarray(from, from + count * inner), row * count * inner);
    }
    const taken = this.open().web_push(this.handle, slot.index, slot.at, count);
    if (taken < 0) throw this.runtime.error();
    source.at += taken;
    return taken;
  }

  #outputs() {
    return this.#slots.filter((slot) => slot.output).map((slot) => ({ slot, pieces: [] }));
  }
  #pull(parts) {
    let all = 0;
    for (const { slot, pieces } of parts) {
      for (;;) {
        const count = this.open().web_pull(this.handle, slot.index, slot.at, slot.frames);
        if (count < 0) throw this.runtime.error();
        if (count === 0) break;
        // In the buffer, rows are `slot.frames` frames apart.
        const outer = volume(slot.io.shape.slice(0, slot.io.axis));
        const inner = slot.elements / outer;
        const piece = new slot.array(count * slot.elements);
        const view = this.#view(slot);
        for (let row = 0; row < outer; ++row) {
          const from = row * slot.frames * inner;
          piece.set(view.subarray(from, from + count * inner), row * count * inner);
        }
        pieces.push({ data: piece, count, outer, inner });
        all += count;
      }
    }
    return all;
  }
  #joined(parts) {
    const out = {};
    for (const { slot, pieces } of parts) {
      const frames = pieces.reduce((sum, piece) => sum + piece.count, 0);
      const joined = new slot.array(frames * slot.elements);
      let at = 0;
      for (const { data, count, outer, inner } of pieces) {
        for (let row = 0; row < outer; ++row) {
          joined.set(data.subarray(row * count * inner, (row + 1) * count * inner),
                     (row * frames + at) * inner);
        }
        at += count;
      }
      out[slot.io.name] = joined;
    }
    return out;
  }

  /** End the stream: all frames have been pushed. Return the remaining frames, and the outputs that do
   *  not stream. */
  finish() {
    const parts = this.#outputs();
    this.#pull(parts);
    this.check(this.open().web_finish(this.handle));
    while (this.#pull(parts) > 0);
    const out = this.#joined(parts);
    this.outputs.forEach((io, i) => {
      if (io.axis < 0) out[io.name] = this.buffer(true, i).slice();
    });
    return out;
  }
  /** Time the nodes of `steps` steps over zeros, in a separate stream. Return the mean time of each node
   *  in microseconds, in their order. The clocks of browsers are coarse, so time hundreds of steps. */
  profile(steps = 1000) {
    const copy = this.runtime.made(this.open().web_clone(this.handle));
    const { calls } = this.runtime;
    const count = this.nodes.length;
    try {
      this.check(calls.web_reset(copy));
      const sums = this.runtime.with([new Uint8Array(8 * count)], (at) => {
        for (let i = 0; i < steps; ++i) this.check(calls.web_step_timed(copy, at, count));
        return [...new BigInt64Array(this.runtime.bytes(at, 8 * count).slice().buffer)];
      });
      return this.nodes.map(({ name, op }, i) => ({ name, op, us: Number(sums[i]) / 1000 / steps }));
    } finally {
      calls.web_close(copy);
    }
  }
  /** Restart the stream. */
  reset() {
    this.check(this.open().web_reset(this.handle));
  }
  /** Return a stream that continues from the same state. */
  clone() {
    return new Stream(this.runtime, this.runtime.made(this.open().web_clone(this.handle)));
  }
  /** Return the state of the stream as bytes, for `restore` of a stream of the same model. */
  save() {
    const size = this.open().web_state_size(this.handle);
    if (size < 0) throw this.runtime.error();
    const at = this.runtime.alloc(size);
    try {
      const written = this.runtime.calls.web_state_save(this.handle, at, size);
      if (written < 0) throw this.runtime.error();
      return this.runtime.bytes(at, written).slice();
    } finally {
      this.runtime.calls.web_free(at);
    }
  }
  restore(bytes) {
    this.runtime.with([bytes], (at) =>
      this.check(this.open().web_state_load(this.handle, at, bytes.length)));
  }

  close() {
    if (!this.handle) return;
    for (const slot of this.#slots) this.runtime.calls.web_free(slot.at);
    this.#slots = [];
    super.close();
  }

  /** For audio threads: the buffer of a streaming input or output, and a call that creates no objects.
   *  `move(frames)` of an input and `move()` of an output return counts of frames; -1 is a failure, see `error()`.
   *  Read `view` again after a call that may have grown the memory, such as opening another stream. */
  direct(output, name) {
    const slot = this.#slots.find((each) => each.output === output &&
                                 (name === undefined || each.io.name === name));
    if (!slot) throw misuse(`no ${output ? "output" : "input"} ${name ?? ""} that streams`);
    const { calls } = this.runtime;
    const { handle } = this;
    const view = () => this.#view(slot);
    return {
      get view() {
        return view();
      },
      frames: slot.frames,
      elements: slot.elements,
      /** The elements of a frame in a row: those of the axes after the axis of frames. */
      inner: volume(slot.io.shape.slice(slot.io.axis + 1)),
      name: slot.io.name,
      move: output ? () => calls.web_pull(handle, slot.index, slot.at, slot.frames)
                   : (count) => calls.web_push(handle, slot.index, slot.at, count),
    };
  }
  error() {
    return this.runtime.error();
  }
}
