// Models as nodes of Web Audio: RillNode reports the frames of an output, RillEffect plays the model's output.

import { CompiledModel, openStream } from "./compiled.js";
import { refusePageAt } from "./page.js";
import { RillError, compile, load, unpacked } from "./rill.js";
import { misuse } from "./runtime.js";

export { RillError };

const kModules = new WeakMap();

/** Add processor.js to a context, at most once. */
function addProcessor(context) {
  if (!kModules.has(context)) {
    const url = new URL("./processor.js", import.meta.url);
    kModules.set(context, context.audioWorklet.addModule(url).catch(async (cause) => {
      kModules.delete(context);
      const hint = "Put processor.js next to the code that imports rill, served as text/javascript; " +
                   "for the server of Vite, add optimizeDeps: {exclude: [\"rill-stream\"]}";
      await refusePageAt(url, hint);
      throw misuse(`the audio thread cannot load ${url.href}: ${cause.message}`, hint);
    }));
  }
  return kModules.get(context);
}

/** Check a model before it is sent to the audio thread, and return the options of a processor. */
async function prepared(context, bytes, { rate, symbol, pulse, window, symbols = {}, output, wasm },
                        needsRate) {
  const plain = await unpacked(bytes);
  const module = await compile(wasm, plain);
  const model = await load(plain, { symbols, wasm: module });
  try {
    const stream = openStream(model, { symbol, pulse, window });
    const elements = stream.direct(false).elements;
    const inputs = stream.inputs.filter((io) => io.axis >= 0).length;
    stream.close();
    const property = model.properties["rill.sample_rate"];
    if (rate === undefined && !property && (needsRate || model instanceof CompiledModel)) {
      throw misuse("this model has no property rill.sample_rate", "Pass {rate: 16000}, or its rate");
    }
    await addProcessor(context);
    return { module, bytes: plain, symbols, symbol, pulse, window, rate: rate ?? Number(property ?? 16000), output,
             elements, inputs };
  } finally {
    model.close();
  }
}

/** A model in the audio thread. `node.onfail = (error) => ...` is called when the stream fails and ends. */
class ModelNode extends AudioWorkletNode {
  #times = [];

  constructor(context, name, options) {
    super(context, name, options);
    this.onfail = null;
    /** Settles when the model is ready in the audio thread. */
    this.ready = new Promise((resolve, reject) => {
      this.port.onmessage = ({ data }) => this.#receive(data, resolve, reject);
      this.onprocessorerror = (event) => {
        const error = event.error ?? new Error("the audio thread failed");
        reject(error);
        this.onfail?.(error);
      };
    });
  }

  #receive(message, resolve, reject) {
    if (message.kind === "frames") {
      this.hear(message);
    } else if (message.kind === "ready") {
      resolve(message);
    } else if (message.kind === "times") {
      this.#times.shift()?.(message);
    } else {
      const error = new RillError({ message: message.detail ?? message.text, ...message });
      reject(error);
      this.onfail?.(error);
    }
  }
  /** Begin a new stream. */
  reset() {
    this.port.postMessage({ kind: "reset" });
  }
  /** Return the times of quanta: counts per interval of seconds; the last one counts all longer quanta. */
  async times() {
    return new Promise((resolve) => {
      this.#times.push(resolve);
      this.port.postMessage({ kind: "times" });
    });
  }
  /** End the stream. */
  close() {
    this.disconnect();
    this.port.postMessage({ kind: "close" });
  }
}

/** Runs its input through a model in the audio thread, and reports the frames of one output.
 *
 *  `node.onframes = ({frame, time, count, data}) => ...` gets `count` frames, the first with number `frame`. `data`
 *  has them in order, `elements` numbers each. Frame i depends on sound up to `time(i)`, in seconds of the
 *  context's clock. */
export class RillNode extends ModelNode {
  constructor(context, options) {
    super(context, "rill", {
      numberOfInputs: 1, numberOfOutputs: 0, channelCountMode: "max", processorOptions: options,
    });
    this.onframes = null;
  }

  hear({ frame, count, begin, perFrame, elements, data }) {
    this.onframes?.({ frame, count, elements, data: data.subarray(0, count * elements),
                      time: (i) => begin + (frame + i + 1) * perFrame });
  }

  /** Make a node in one line: `await RillNode.create(context, bytes, {rate: 16000})`.
   *  `rate`: samples per second of the model; by default its property rill.sample_rate, else 16000. A
   *  compiled model without that property needs it.
   *  `symbol`, `pulse`, `symbols`, `output`: as for `Model.pulse`; the first output by default. `window`, of
   *  three numbers, replaces `pulse`: as for `Model.window`. */
  static async create(context, bytes, options = {}) {
    const node = new RillNode(context, await prepared(context, bytes, options, false));
    node.info = await node.ready;
    return node;
  }
}

/** Passes its input through a model, with a fixed latency.
 *
 *  `effect.latency` is the exact lag of its output in frames of the context, `effect.latencySeconds` the same
 *  in seconds. `effect.bypass = true` plays the input with the same latency; the change fades over 5 ms.
 *  A model with a second input gets the sound that is connected to the second input of the node, such as the
 *  output of the loudspeaker: `played.connect(effect, 0, 1)`. */
export class RillEffect extends ModelNode {
  #bypass = false;

  constructor(context, options) {
    super(context, "rill-effect", {
      numberOfInputs: Math.min(options.inputs, 2), numberOfOutputs: 1, outputChannelCount: [options.channels],
      channelCount: options.channels, channelCountMode: "explicit", processorOptions: options,
    });
  }

  get latency() {
    return this.info.latency;
  }
  get latencySeconds() {
    return this.info.latencySeconds;
  }
  get bypass() {
    return this.#bypass;
  }
  set bypass(on) {
    this.#bypass = Boolean(on);
    this.port.postMessage({ kind: "bypass", on: this.#bypass });
  }

  /** Make an effect in one line: `await RillEffect.create(context, bytes, {rate: 16000})`.
   *  `rate`: samples per second of the model; needed unless the model has the property rill.sample_rate.
   *  `channels`: of the input and output, 1 or those of the model by default; a model of one channel runs on each.
   *  `symbol`, `pulse`, `symbols`, `output`: as for `Model.pulse`; the first output by default. `window`, of
   *  three numbers, replaces `pulse`: as for `Model.window`. */
  static async create(context, bytes, options = {}) {
    const found = await prepared(context, bytes, options, true);
    const effect = new RillEffect(context, { ...found, channels: options.channels ?? found.elements });
    effect.info = await effect.ready;
    return effect;
  }
}
