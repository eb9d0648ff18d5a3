// Models, whole runs and streams.

import { RillError, misuse } from "./runtime.js";

const kArrays = {
  f32: Float32Array, f64: Float64Array, i8: Int8Array, i16: Int16Array, i32: Int32Array,
  i64: BigInt64Array, u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array,
  bool: Uint8Array,
};

/** The typed array for elements of a type. */
function arrayOf(io) {
  const array = kArrays[io.type];
  if (!array) throw misuse(`${io.name}: elements of type ${io.type} have no typed array`);
  return array;
}

const volume = (shape) => shape.reduce((a, b) => a * b, 1);

/** Frames of an output, and where in the stream they lie. */
function named(list, values) {
  const out = {};
  list.forEach((io, i) => {
    if (values[i] !== undefined) out[io.name] = values[i];
  });
  return out;
}

/** Frees what JavaScript has forgotten; a worklet may lack it. */
const forgotten =
  typeof FinalizationRegistry === "undefined" ? null : new FinalizationRegistry((free) => free());

/** A model as its file tells it. */
export class Model {
  #runtime;
  #handle;

  constructor(runtime, handle) {
    this.#runtime = runtime;
    this.#handle = handle;
    const { calls } = runtime;
    forgotten?.register(this, () => calls.web_model_free(handle), this);
  }

  #described() {
    return this.#runtime.json(this.#runtime.calls.web_model_info(this.#handle));
  }
  /** Inputs, outputs, free symbols and properties of the file. */
  inspect() {
    return this.#described();
  }
  get inputs() {
    return this.#described().inputs;
  }
  get outputs() {
    return this.#described().outputs;
  }
  get symbols() {
    return this.#described().symbols;
  }
  get properties() {
    return this.#described().properties;
  }

  /** A copy with symbols replaced by numbers or expressions: `model.with({B: 1})`. */
  with(symbols) {
    const copy = this.#copy();
    for (const [symbol, value] of Object.entries(symbols)) {
      copy.#check(
        this.#runtime.with([symbol, String(value)], (name, text) =>
          this.#runtime.calls.web_set_symbol(copy.#handle, name, text)));
    }
    return copy;
  }
  #copy() {
    return new Model(this.#runtime,
                     this.#runtime.made(this.#runtime.calls.web_model_clone(this.#handle)));
  }
  #check(status) {
    if (status !== 0) throw this.#runtime.error();
  }

  /** A stream that takes frames along a symbol; `pulse` is a number or "auto:max_delay=20".
   *  `maxPush`: frames that one push takes. Other symbols that are left free become 1. */
  pulse(symbol = "S", pulse = "auto", { maxPush = 0 } = {}) {
    const copy = this.#copy();
    this.#check(
      this.#runtime.with([symbol, String(pulse)], (name, text) =>
        this.#runtime.calls.web_pulse(copy.#handle, name, text)));
    return copy.stream({ maxPush });
  }

  /** A stream of a model that is one already: saved pulsed, or with `feedback`. Symbols that are
   *  left free become 1. */
  stream({ maxPush = 0 } = {}) {
    const bound = this.with(Object.fromEntries(this.symbols.map((name) => [name, 1])));
    return new Stream(this.#runtime,
                      this.#runtime.made(this.#runtime.calls.web_open(bound.#handle, maxPush)));
  }

  /** A copy whose steps hand outputs on to inputs of the next: `feedback({stateN: "state"})`. The
   *  stream owns that state, zeros at first. */
  feedback(ties) {
    const copy = this.#copy();
    for (const [output, input] of Object.entries(ties)) {
      copy.#check(
        this.#runtime.with([output, String(input)], (from, to) =>
          this.#runtime.calls.web_feedback(copy.#handle, from, to)));
    }
    return copy;
  }
  /** A copy whose steps begin with the last frames of the step before: `context({input: 64})`. */
  context(frames) {
    const copy = this.#copy();
    for (const [input, count] of Object.entries(frames)) {
      copy.#check(
        this.#runtime.with([input], (name) =>
          this.#runtime.calls.web_context(copy.#handle, name, Number(count) || 0)));
    }
    return copy;
  }

  /** Run the whole model: `model.run({audio: {data, shape}})`, or one typed array for one input.
   *  Symbols take their values from the shapes. Gives {name: {data, shape}}. */
  run(inputs) {
    const { inputs: wanted } = this.#described();
    const given = wanted.map((io) => tensorFor(io, inputs, wanted.length));
    const symbols = {};
    wanted.forEach((io, i) => io.dims.forEach((dim, axis) => {
      if (/^[A-Za-z_]\w*$/.test(dim)) symbols[dim] = given[i].shape[axis];
    }));
    const free = new Set(this.symbols);
    const bound = this.with(
      Object.fromEntries(Object.entries(symbols).filter(([name]) => free.has(name))));
    const run = new Whole(this.#runtime,
                          this.#runtime.made(this.#runtime.calls.web_open(bound.#handle, 0)));
    try {
      return run.run(given);
    } finally {
      run.close();
      bound.close();
    }
  }

  /** Free the model at once. Streams that were made from it go on. */
  close() {
    if (!this.#handle) return;
    forgotten?.unregister(this);
    this.#runtime.calls.web_model_free(this.#handle);
    this.#handle = 0;
  }
}

/** What is given for an input, as {data, shape}. */
function tensorFor(io, inputs, count) {
  const alone = ArrayBuffer.isView(inputs) && count === 1;
  const value = alone ? inputs : inputs?.[io.name];
  if (value === undefined) {
    throw misuse(`input ${io.name} is missing`, `Pass {${io.name}: {data, shape}}`);
  }
  if (!ArrayBuffer.isView(value)) {
    if (!ArrayBuffer.isView(value.data) || !Array.isArray(value.shape) ||
        value.shape.length !== io.dims.length || volume(value.shape) !== value.data.length) {
      throw misuse(`input ${io.name}: expected {data, shape} of ${io.text}, with as many elements`);
    }
    return value;
  }
  // One free axis takes what the others leave.
  const fixed = io.dims.map((dim) => (/^\d+$/.test(dim) ? Number(dim) : 0));
  const open = fixed.filter((extent) => extent === 0).length;
  const known = volume(fixed.filter((extent) => extent > 0));
  const shape = fixed.map((extent, axis) => {
    if (extent > 0) return extent;
    const last = fixed.lastIndexOf(0) === axis;
    return last || open === 1 ? value.length / known : 1;
  });
  if (volume(shape) !== value.length || shape.some((extent) => !Number.isInteger(extent))) {
    throw misuse(`input ${io.name}: ${value.length} elements do not fill ${io.text}`);
  }
  return { data: value, shape };
}

/** What streams and whole runs share. */
class Run {
  constructor(runtime, handle) {
    this.runtime = runtime;
    this.handle = handle;
    const { calls } = runtime;
    forgotten?.register(this, () => calls.web_close(handle), this);
    Object.assign(this, runtime.json(calls.web_plan_info(handle)));
  }
  /** Free the memory at once. */
  close() {
    if (!this.handle) return;
    forgotten?.unregister(this);
    this.runtime.calls.web_close(this.handle);
    this.handle = 0;
  }
  open() {
    if (!this.handle) throw misuse("the stream is closed");
    return this.runtime.calls;
  }
  check(status) {
    if (status !== 0) throw this.runtime.error();
  }
  /** Elements of an input or output, as they lie in memory until it grows. */
  buffer(output, index) {
    const io = (output ? this.outputs : this.inputs)[index];
    const at = this.runtime.made(this.open().web_buffer(this.handle, output ? 1 : 0, index));
    return new (arrayOf(io))(this.runtime.calls.memory.buffer, at, volume(io.shape));
  }
}

class Whole extends Run {
  run(given) {
    given.forEach(({ data, shape }, i) => {
      const io = this.inputs[i];
      if (shape.join() !== io.shape.join() || data.constructor !== arrayOf(io)) {
        throw misuse(`input ${io.name}: expected ${arrayOf(io).name} of [${io.shape}], ` +
                     `found ${data.constructor.name} of [${shape}]`);
      }
      this.buffer(false, i).set(data);
    });
    this.check(this.open().web_step(this.handle));
    return named(this.outputs,
                 this.outputs.map((io, i) => ({ data: this.buffer(true, i).slice(), shape: io.shape })));
  }
}

/** One stream: frames go in a few at a time, and frames of the whole run come out. */
export class Stream extends Run {
  #room = [];

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
        // Frames pass through a place of the stream's own; rows lie behind one another in it.
        const at = runtime.alloc(Math.max(1, frames * bytes));
        this.#room.push({ io, output, index, frames, elements, array, at, view: null });
      });
    }
  }

  /** Frames of the first output by which it lags behind the input. */
  get delay() {
    return this.streams[0].delay;
  }
  /** Frames of the first input that one step takes. */
  get pulse() {
    return this.streams[0].inputPulse;
  }
  /** Tell what a frame waits for: the delay, and the rest of its pulse, in frames of the input. */
  latency() {
    return this.streams.map((stream, i) => ({
      output: this.outputs[i].name,
      delayFrames: stream.delayInputFrames,
      mostFrames: stream.delayInputFrames + stream.inputPulse - 1,
    }));
  }

  #inputs() {
    return this.#room.filter((room) => !room.output);
  }
  #view(room) {
    // A view is made anew where the memory has grown, which no step does.
    if (room.view?.buffer !== this.runtime.calls.memory.buffer) {
      room.view = new room.array(this.runtime.calls.memory.buffer, room.at,
                                 room.frames * room.elements);
    }
    return room.view;
  }

  /** Set an input that does not stream, from the next step on. */
  set(name, data) {
    const index = this.inputs.findIndex((io) => io.name === name && io.axis < 0);
    if (index < 0) throw misuse(`no input ${name} that does not stream`);
    const buffer = this.buffer(false, index);
    if (buffer.length !== data.length) {
      throw misuse(`input ${name}: expected ${buffer.length} elements, found ${data.length}`);
    }
    buffer.set(data);
  }

  /** Push frames, of one input as a typed array or of several by their names, rows behind one
   *  another. Gives {name: typed array} with the frames that are ready. */
  push(frames) {
    this.open();
    const parts = this.#outputs();
    const places = this.#inputs();
    if (ArrayBuffer.isView(frames) && places.length !== 1) {
      throw misuse(`${places.length} inputs stream`, "Pass them by their names");
    }
    const sources = places.map((room) => {
      const data = ArrayBuffer.isView(frames) ? frames : frames?.[room.io.name];
      if (!data || data.constructor !== room.array || data.length % room.elements !== 0) {
        throw misuse(`input ${room.io.name}: expected a ${room.array.name} of a multiple of ` +
                     `${room.elements} elements`);
      }
      return { room, data, at: 0, frames: data.length / room.elements };
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
    const { room, data, frames } = source;
    const outer = volume(room.io.shape.slice(0, room.io.axis));
    const inner = room.elements / outer;
    const count = Math.min(room.frames, frames - source.at);
    if (count === 0) return 0;
    const view = this.#view(room);
    for (let row = 0; row < outer; ++row) {
      const from = (row * frames + source.at) * inner;
      view.set(data.subarray(from, from + count * inner), row * count * inner);
    }
    const taken = this.open().web_push(this.handle, room.index, room.at, count);
    if (taken < 0) throw this.runtime.error();
    source.at += taken;
    return taken;
  }

  #outputs() {
    return this.#room.filter((room) => room.output).map((room) => ({ room, pieces: [] }));
  }
  #pull(parts) {
    let all = 0;
    for (const { room, pieces } of parts) {
      for (;;) {
        const count = this.open().web_pull(this.handle, room.index, room.at, room.frames);
        if (count < 0) throw this.runtime.error();
        if (count === 0) break;
        // Rows lie apart by the frames that there was room for.
        const outer = volume(room.io.shape.slice(0, room.io.axis));
        const inner = room.elements / outer;
        const piece = new room.array(count * room.elements);
        const view = this.#view(room);
        for (let row = 0; row < outer; ++row) {
          const from = row * room.frames * inner;
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
    for (const { room, pieces } of parts) {
      const frames = pieces.reduce((sum, piece) => sum + piece.count, 0);
      const joined = new room.array(frames * room.elements);
      let at = 0;
      for (const { data, count, outer, inner } of pieces) {
        for (let row = 0; row < outer; ++row) {
          joined.set(data.subarray(row * count * inner, (row + 1) * count * inner),
                     (row * frames + at) * inner);
        }
        at += count;
      }
      out[room.io.name] = joined;
    }
    return out;
  }

  /** Say that all frames were pushed, and bring out those that are left. Outputs that do not stream
   *  are part of the answer. */
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
  /** Time the nodes of `steps` steps over zeros, in a stream of its own. Gives the mean in
   *  microseconds of each node, in their order; browsers read the clock in coarse steps, so that many
   *  steps are needed. */
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
  /** Begin anew. */
  reset() {
    this.check(this.open().web_reset(this.handle));
  }
  /** A stream that goes on as this one would. */
  clone() {
    return new Stream(this.runtime, this.runtime.made(this.open().web_clone(this.handle)));
  }
  /** The state of the stream as bytes, for `restore` of a stream of the same model. */
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
    for (const room of this.#room) this.runtime.calls.web_free(room.at);
    this.#room = [];
    super.close();
  }

  /** For audio threads: the place of an input or output that streams, and calls that make no
   *  object. `push(frames)` and `pull()` give counts of frames; -1 is a failure, see `error()`. */
  direct(output, name) {
    const room = this.#room.find((each) => each.output === output &&
                                 (name === undefined || each.io.name === name));
    if (!room) throw misuse(`no ${output ? "output" : "input"} ${name ?? ""} that streams`);
    const { calls } = this.runtime;
    const { handle } = this;
    return {
      view: this.#view(room),
      frames: room.frames,
      elements: room.elements,
      name: room.io.name,
      move: output ? () => calls.web_pull(handle, room.index, room.at, room.frames)
                   : (count) => calls.web_push(handle, room.index, room.at, count),
    };
  }
  error() {
    return this.runtime.error();
  }
}

export { RillError };
