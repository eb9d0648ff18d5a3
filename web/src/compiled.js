// Compiled models: plans that `rill compile` wrote.

import { Model } from "./model.js";
import { runWhole, valuesFor } from "./run.js";
import { RillError, misuse } from "./runtime.js";
import { Stream } from "./stream.js";

const kMagic = [..."rillplan"].map((letter) => letter.charCodeAt(0));

/** Return whether bytes begin like a compiled model. */
export const isCompiled = (bytes) => kMagic.every((letter, i) => bytes[i] === letter);

const kLimits = ["maxFileBytes", "maxSessionBytes", "maxStepWork", "maxOutputs", "maxBuffers"];

/** Return the values of limits in the library's order; 0 for a missing one. */
function limitValues(limits) {
  const [unknown] = Object.keys(limits).filter((name) => !kLimits.includes(name));
  if (unknown !== undefined) throw misuse(`no limit ${unknown}`, `Limits are ${kLimits.join(", ")}`);
  return kLimits.map((name) => {
    const value = limits[name] ?? 0;
    if (!Number.isSafeInteger(value) || value < 0) {
      throw misuse(`${name} is ${value}: expected a whole number of 0 or more`);
    }
    return value;
  });
}

/** Make the error of a call that would change a setting of the compilation. `flags`: options of `rill compile`
 *  for that setting; `instead`: a call that works. */
function settled(code, message, flags, instead = "") {
  const again = `ompile the model again: rill compile MODEL ${flags} --target wasm -o PLAN.rill`;
  const hint = instead ? `${instead}, or c${again}` : `C${again}`;
  return new RillError({ code, text: `${message}. ${hint}`, message, hint });
}

/** A compiled model. Its symbols and its pulse are fixed, so it either runs whole or streams. */
export class CompiledModel extends Model {
  #info;

  constructor(runtime, handle) {
    super(runtime, handle, runtime.calls.web_compiled_free);
    this.#info = runtime.json(runtime.calls.web_compiled_info(handle));
  }
  /** Open a copy of a file, unless it costs more than `limits` allow. The runtime must be that of
   *  rill_run.wasm. */
  static load(runtime, bytes, limits = {}) {
    const values = limitValues(limits);
    if (values[0] > 0 && bytes.length > values[0]) {
      const message = `the plan file has ${bytes.length} bytes: the limit is ${values[0]}`;
      const hint = "Raise maxFileBytes of limits if you trust the file";
      throw new RillError({ code: "memory", text: `${message}. ${hint}`, message, hint });
    }
    const at = runtime.alloc(Math.max(bytes.length, 1));
    runtime.bytes(at, bytes.length).set(bytes);
    return new CompiledModel(runtime,
                             runtime.made(runtime.calls.web_compiled_load(at, bytes.length, ...values)));
  }

  /** Inputs and outputs, how outputs stream, nodes, memory and properties. There are no symbols. */
  inspect() {
    return { ...this.#info, symbols: [] };
  }
  /** Properties of the model's file, as text. */
  get properties() {
    return this.#info.properties;
  }
  /** How outputs stream: delay, rate, frames of a step. */
  get streams() {
    return this.#info.streams;
  }
  get memory() {
    return this.#info.memory;
  }
  get nodes() {
    return this.#info.nodes;
  }
  /** Frames of the first input that one step takes; 0 for a model that runs whole. */
  get pulsed() {
    return this.#info.streams.find((stream) => stream.input >= 0)?.inputPulse ?? 0;
  }

  with(symbols) {
    const [entry] = Object.entries(symbols);
    if (entry) {
      throw settled("symbol", `no symbol ${entry[0]}: the model was compiled for its shapes`,
                    `--set ${entry[0]}=${entry[1]}`);
    }
    return new CompiledModel(this.runtime, this.#calls().web_compiled_clone(this.handle));
  }
  pulse(symbol = "S", pulse = "auto") {
    throw this.#compiled(`--pulse ${symbol}=${pulse}`);
  }
  window(symbol = "S", left = 0, step = 1, right = 0) {
    throw this.#compiled(`--window ${symbol}=${left},${step},${right}`);
  }
  /** Make the error of a request for another kind of stream, which `flags` would compile. */
  #compiled(flags) {
    if (this.pulsed === 0) return settled("pulse", "the model was compiled whole", flags);
    return settled("pulse", `the model was compiled for steps of ${this.pulsed} frames`, flags,
                   "Call stream()");
  }
  feedback(ties) {
    const flags = Object.entries(ties).map(([output, input]) => `--feedback ${output}=${input}`);
    throw settled("state", "the model was compiled: the feedback of its steps is fixed", flags.join(" "));
  }
  context(frames) {
    const flags = Object.entries(frames).map(([input, count]) => `--context ${input}=${count}`);
    throw settled("state", "the model was compiled: the context of its steps is fixed",
                  flags.join(" "));
  }

  stream({ maxPush = 0 } = {}) {
    if (this.pulsed === 0) {
      throw settled("state", "the model was compiled whole", "--pulse S=FRAMES", "Call run()");
    }
    return new Stream(this.runtime, this.#open(maxPush));
  }
  /** Run a model that was compiled whole, as `Model.run` does. */
  run(inputs) {
    if (this.pulsed > 0) {
      throw settled("state", "the model was compiled for a pulse", "--set S=FRAMES", "Call stream()");
    }
    const given = valuesFor(this.#info.inputs, inputs);
    return runWhole(this.runtime, this.#open(0), given);
  }
  #open(maxPush) {
    return this.runtime.made(this.#calls().web_compiled_open(this.handle, maxPush));
  }
  #calls() {
    if (!this.handle) throw misuse("the model is closed");
    return this.runtime.calls;
  }
}

/** Open a stream. A compiled model opens its only stream, and refuses a pulse or a window. Other models open one
 *  by `Model.window` if there is a `window` of three numbers, else by `Model.pulse`. */
export function openStream(model, { symbol, pulse, window }, options) {
  if (window !== undefined) {
    if (pulse !== undefined) throw misuse("both a pulse and a window", "Give one of them");
    const [left, step, right] = window;
    return model.window(symbol, left, step, right, options);
  }
  const asks = symbol !== undefined || pulse !== undefined;
  return model instanceof CompiledModel && !asks ? model.stream(options)
    : model.pulse(symbol, pulse, options);
}
