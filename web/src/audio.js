// A model as a node of Web Audio: sound goes in, frames come out as events.

import { CompiledModel, openStream } from "./compiled.js";
import { RillError, compile, load, unpacked } from "./rill.js";
import { misuse } from "./runtime.js";

export { RillError };

const kModules = new WeakMap();

/** Hears what is connected to it, in the audio thread, and tells the frames of one output.
 *
 *  `node.onframes = ({frame, time, count, data}) => ...`: `count` frames from `frame` on; `data` has
 *  them behind one another, `elements` numbers each, and `time(i)` is the second of the context's
 *  clock up to which frame i has heard. `node.onfail = (error) => ...`: the stream has ended. */
export class RillNode extends AudioWorkletNode {
  constructor(context, options) {
    super(context, "rill", {
      numberOfInputs: 1, numberOfOutputs: 0, channelCountMode: "max", processorOptions: options,
    });
    this.onframes = null;
    this.onfail = null;
    /** Settles when the model is ready in the audio thread. */
    this.ready = new Promise((resolve, reject) => {
      this.port.onmessage = ({ data }) => this.#told(data, resolve, reject);
      this.onprocessorerror = (event) => reject(event.error ?? new Error("the audio thread failed"));
    });
  }

  #told(message, resolve, reject) {
    if (message.kind === "frames") {
      const { frame, count, begin, perFrame, elements, data } = message;
      this.onframes?.({ frame, count, elements, data: data.subarray(0, count * elements),
                        time: (i) => begin + (frame + i + 1) * perFrame });
    } else if (message.kind === "ready") {
      resolve(message);
    } else if (message.kind === "times") {
      this.#times?.(message);
    } else {
      const error = new RillError({ message: message.detail ?? message.text, ...message });
      reject(error);
      this.onfail?.(error);
    }
  }
  #times = null;

  /** Make a node in one line: `await RillNode.create(context, bytes, {rate: 16000})`.
   *  `rate`: samples a second of the model; without it, its property rill.sample_rate, or 16000. A
   *  compiled model without that property needs it.
   *  `symbol`, `pulse`, `symbols`, `output`: as for `Model.pulse`; the first output by default. */
  static async create(context, bytes, { rate, symbol = undefined, pulse = undefined, symbols = {},
                                        output = undefined, wasm = undefined } = {}) {
    const plain = await unpacked(bytes);
    const module = await compile(wasm, plain);
    // What is wrong with a model is told here, before the audio thread hears of it.
    const model = await load(plain, { symbols, wasm: module });
    openStream(model, symbol, pulse).close();
    if (rate === undefined && model instanceof CompiledModel && !model.properties["rill.sample_rate"]) {
      throw misuse("this compiled model has no property rill.sample_rate", "Pass {rate: 16000}, or its rate");
    }
    const modelRate = rate ?? Number(model.properties["rill.sample_rate"] ?? 16000);
    model.close();
    if (!kModules.has(context)) {
      kModules.set(context, context.audioWorklet.addModule(new URL("./processor.js", import.meta.url)));
    }
    await kModules.get(context);
    const node = new RillNode(context, {
      module, bytes: plain, symbols, symbol, pulse, rate: modelRate, output,
    });
    node.info = await node.ready;
    return node;
  }

  /** Begin a new stream. */
  reset() {
    this.port.postMessage({ kind: "reset" });
  }
  /** Tell how long quanta took: counts by steps of seconds, the last one for all that are longer. */
  async times() {
    return new Promise((resolve) => {
      this.#times = resolve;
      this.port.postMessage({ kind: "times" });
    });
  }
  /** End the stream. */
  close() {
    this.disconnect();
    this.port.postMessage({ kind: "close" });
  }
}
