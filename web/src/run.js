// Whole runs, and the common part of streams and whole runs.

import { misuse } from "./runtime.js";

const kArrays = {
  f32: Float32Array, f64: Float64Array, i8: Int8Array, i16: Int16Array, i32: Int32Array,
  i64: BigInt64Array, u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array,
  bool: Uint8Array,
};

/** Return the typed array for elements of a type. */
export function arrayOf(io) {
  const array = kArrays[io.type];
  if (!array) throw misuse(`${io.name}: elements of type ${io.type} have no typed array`);
  return array;
}

export const volume = (shape) => shape.reduce((a, b) => a * b, 1);

/** Frees native objects whose owner was garbage-collected; a worklet may lack FinalizationRegistry. */
export const forgotten =
  typeof FinalizationRegistry === "undefined" ? null : new FinalizationRegistry((free) => free());

/** The common part of streams and whole runs. */
export class Run {
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
  /** Return the elements of an input or output in place; valid until the memory grows. */
  buffer(output, index) {
    const io = (output ? this.outputs : this.inputs)[index];
    const at = this.runtime.made(this.open().web_buffer(this.handle, output ? 1 : 0, index));
    return new (arrayOf(io))(this.runtime.calls.memory.buffer, at, volume(io.shape));
  }
}

/** Return the value for an input as {data, shape}. */
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
  // If one axis is free, its extent follows from the others.
  const fixed = io.dims.map((dim) => (/^\d+$/.test(dim) ? Number(dim) : null));
  const known = volume(fixed.filter((extent) => extent !== null));
  const last = fixed.lastIndexOf(null);
  const shape = fixed.map((extent, axis) => extent ?? (axis === last ? value.length / known : 1));
  if (volume(shape) !== value.length || shape.some((extent) => !Number.isInteger(extent))) {
    throw misuse(`input ${io.name}: ${value.length} elements do not fill ${io.text}`);
  }
  return { data: value, shape };
}

/** Return the values for all inputs, in their order. */
export const valuesFor = (wanted, inputs) =>
  wanted.map((io) => tensorFor(io, inputs, wanted.length));

/** Run the plan of `handle` once on values from `valuesFor`, and close it. Return
 *  {name: {data, shape}}. */
export function runWhole(runtime, handle, given) {
  const run = new Run(runtime, handle);
  try {
    given.forEach(({ data, shape }, i) => {
      const io = run.inputs[i];
      if (shape.join() !== io.shape.join() || data.constructor !== arrayOf(io)) {
        throw misuse(`input ${io.name}: expected ${arrayOf(io).name} of [${io.shape}], ` +
                     `found ${data.constructor.name} of [${shape}]`);
      }
      run.buffer(false, i).set(data);
    });
    run.check(run.open().web_step(run.handle));
    return Object.fromEntries(run.outputs.map((io, i) =>
      [io.name, { data: run.buffer(true, i).slice(), shape: io.shape }]));
  } finally {
    run.close();
  }
}
