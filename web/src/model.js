// Models: their symbols can be set, and streams can be opened.

import { forgotten, runWhole, valuesFor } from "./run.js";
import { misuse } from "./runtime.js";
import { Stream } from "./stream.js";

/** A model as loaded from its file. */
export class Model {
  #free;

  /** `free`: the call that frees the native object of `handle`. */
  constructor(runtime, handle, free = runtime.calls.web_model_free) {
    this.runtime = runtime;
    this.handle = handle;
    this.#free = free;
    forgotten?.register(this, () => free(handle), this);
  }

  /** Inputs, outputs, free symbols and properties of the file. */
  inspect() {
    return this.runtime.json(this.runtime.calls.web_model_info(this.handle));
  }
  get inputs() {
    return this.inspect().inputs;
  }
  get outputs() {
    return this.inspect().outputs;
  }
  get symbols() {
    return this.inspect().symbols;
  }
  get properties() {
    return this.inspect().properties;
  }

  /** Return a copy with symbols replaced by numbers or expressions: `model.with({B: 1})`. */
  with(symbols) {
    const { calls } = this.runtime;
    return this.#changed(symbols, (copy, name, value) =>
      this.runtime.with([name, String(value)], (at, text) => calls.web_set_symbol(copy, at, text)));
  }
  /** Return a copy, changed by one call of `change` per entry. */
  #changed(entries, change) {
    const copy = new Model(this.runtime,
                           this.runtime.made(this.runtime.calls.web_model_clone(this.handle)));
    for (const [name, value] of Object.entries(entries)) {
      if (change(copy.handle, name, value) !== 0) throw this.runtime.error();
    }
    return copy;
  }

  /** Open a stream that takes frames along a symbol; `pulse` is a number or "auto:max_delay=20".
   *  `maxPush`: frames that one push must accept. Other free symbols become 1. */
  pulse(symbol = "S", pulse = "auto", { maxPush = 0 } = {}) {
    const { calls } = this.runtime;
    const pulsed = this.#changed({ [symbol]: pulse }, (copy, name, value) =>
      this.runtime.with([name, String(value)], (at, text) => calls.web_pulse(copy, at, text)));
    return pulsed.stream({ maxPush });
  }

  /** Open a stream that computes whole windows of `left + step + right` frames along a symbol, for layers
   *  that read the whole stream. Each step returns the `step` frames in the middle, `right` frames late. An
   *  output without the symbol gets a new first axis, with one row per step. The frames differ from those of
   *  the whole run. `maxPush` and free symbols: as for `pulse`. */
  window(symbol = "S", left = 0, step = 1, right = 0, { maxPush = 0 } = {}) {
    for (const frames of [left, step, right]) {
      if (!Number.isSafeInteger(frames)) {
        throw misuse(`a window of ${left}, ${step}, ${right} frames: expected whole numbers`);
      }
    }
    const { calls } = this.runtime;
    const windowed = this.#changed({ [symbol]: null }, (copy, name) =>
      this.runtime.with([name], (at) => calls.web_window(copy, at, left, step, right)));
    return windowed.stream({ maxPush });
  }

  /** Open a stream of a model that already is one: saved pulsed, or with `feedback`. Free symbols
   *  become 1. */
  stream({ maxPush = 0 } = {}) {
    const bound = this.with(Object.fromEntries(this.symbols.map((name) => [name, 1])));
    return new Stream(this.runtime,
                      this.runtime.made(this.runtime.calls.web_open(bound.handle, maxPush)));
  }

  /** Return a copy whose steps feed outputs to inputs of the next step: `feedback({stateN: "state"})`.
   *  The stream owns that state, zeros at first. */
  feedback(ties) {
    const { calls } = this.runtime;
    return this.#changed(ties, (copy, output, input) =>
      this.runtime.with([output, String(input)], (from, to) => calls.web_feedback(copy, from, to)));
  }
  /** Return a copy whose steps begin with the last frames of the previous one: `context({input: 64})`. */
  context(frames) {
    const { calls } = this.runtime;
    return this.#changed(frames, (copy, input, count) =>
      this.runtime.with([input], (name) => calls.web_context(copy, name, Number(count) || 0)));
  }

  /** Run the whole model: `model.run({audio: {data, shape}})`, or one typed array for one input.
   *  Symbols take their values from the shapes. Return {name: {data, shape}}. */
  run(inputs) {
    const { inputs: wanted, symbols } = this.inspect();
    const given = valuesFor(wanted, inputs);
    const found = {};
    wanted.forEach((io, i) => io.dims.forEach((dim, axis) => {
      if (symbols.includes(dim)) found[dim] = given[i].shape[axis];
    }));
    const bound = this.with(found);
    try {
      const opened = this.runtime.made(this.runtime.calls.web_open(bound.handle, 0));
      return runWhole(this.runtime, opened, given);
    } finally {
      bound.close();
    }
  }

  /** Free the model at once. Its streams remain usable. */
  close() {
    if (!this.handle) return;
    forgotten?.unregister(this);
    this.#free(this.handle);
    this.handle = 0;
  }
}
