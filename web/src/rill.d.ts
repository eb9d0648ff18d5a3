/** Elements of an input or output. */
export type Elements =
  | Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array
  | Uint8Array | Uint16Array | Uint32Array | BigUint64Array;
/** A row-major tensor. */
export interface Tensor { data: Elements; shape: number[] }
/** An input or output. If an extent of a model is a symbol, `shape` is null; `dims` has all extents as texts.
 *  `axis` is the frame axis in a stream; -1: it does not stream. */
export interface Port {
  name: string; type: string; text: string; dims: string[]; shape: number[] | null; axis: number;
}
/** How an output streams, in frames. The fields are those of `rill_stream_info` in rill.h. */
export interface StreamInfo {
  axis: number; pulse: number; delay: number; input: number; inputAxis: number; inputPulse: number;
  delayInputFrames: number; rateNumerator: number; rateDenominator: number; warmUpSteps: number;
  symbol: string; length: string;
}
/** Memory in bytes: of the plan's weights, and of each session. */
export interface Memory { weights: number; state: number; arena: number; buffers: number }
export type ErrorCode =
  | "argument" | "input/output" | "parse" | "unsupported" | "shape" | "type" | "symbol" | "pulse"
  | "state" | "memory" | "abi" | "internal" | (string & {});

/** An error with its place and a remedy. */
export class RillError extends Error {
  code: ErrorCode;
  detail: string;
  node: string;
  op: string;
  file: string;
  line: number;
  hint: string;
}

/** A model as loaded from its file. */
export class Model {
  readonly inputs: Port[];
  readonly outputs: Port[];
  readonly symbols: string[];
  readonly properties: Record<string, string>;
  inspect(): { inputs: Port[]; outputs: Port[]; symbols: string[]; properties: Record<string, string> };
  /** Return a copy with symbols replaced by numbers or expressions. */
  with(symbols: Record<string, number | string>): Model;
  /** Return a copy whose steps feed outputs to inputs of the next step: `{ output: "input" }`. */
  feedback(ties: Record<string, string>): Model;
  /** Return a copy whose steps begin with the last frames of the previous one: `{ input: 64 }`. */
  context(frames: Record<string, number>): Model;
  /** Open a stream along a symbol. `maxPush`: frames that one push must accept. */
  pulse(symbol?: string, pulse?: number | string, options?: { maxPush?: number }): Stream;
  /** Open a stream that computes windows of `left + step + right` frames, as an approximation. */
  window(symbol?: string, left?: number, step?: number, right?: number,
         options?: { maxPush?: number }): Stream;
  /** Open the stream of a model that already is one: saved pulsed, or with `feedback`. */
  stream(options?: { maxPush?: number }): Stream;
  /** Run the whole model once. */
  run(inputs: Elements | Record<string, Elements | Tensor>): Record<string, Tensor>;
  /** Free the model; a second call does nothing. Streams of it stay usable. */
  close(): void;
}

/** A model from `rill compile`, for one pulse or for whole runs. It refuses `with`, `pulse`,
 *  `window`, `feedback` and `context`. */
export class CompiledModel extends Model {
  inspect(): ReturnType<Model["inspect"]> &
    { streams: StreamInfo[]; memory: Memory; nodes: { name: string; op: string }[] };
  readonly streams: StreamInfo[];
  readonly memory: Memory;
  readonly nodes: { name: string; op: string }[];
  /** Frames of the first input per step; 0 if the model was compiled for whole runs. */
  readonly pulsed: number;
}

/** One stream: push frames of any number, and get the frames that are ready. */
export class Stream {
  readonly inputs: Port[];
  readonly outputs: Port[];
  readonly streams: StreamInfo[];
  readonly memory: Memory;
  readonly nodes: { name: string; op: string }[];
  /** Properties of the model's file, as text. */
  readonly properties: Record<string, string>;
  /** Frames by which the first output lags the input. */
  readonly delay: number;
  /** Frames of the first input per step. */
  readonly pulse: number;
  /** Return the mean time of each node, in microseconds. */
  profile(steps?: number): { name: string; op: string; us: number }[];
  /** Return the latency of each output in frames of the input; `mostFrames` includes the wait for a full pulse. */
  latency(): { output: string; delayFrames: number; mostFrames: number }[];
  /** Set an input that does not stream. */
  set(name: string, data: Elements): void;
  push(frames: Elements | Record<string, Elements>): Record<string, Elements>;
  /** End the stream. Return the remaining frames, and the outputs that do not stream. */
  finish(): Record<string, Elements>;
  reset(): void;
  /** Return a stream that continues from the same state. */
  clone(): Stream;
  save(): Uint8Array;
  restore(state: Uint8Array): void;
  close(): void;
}

/** WebAssembly.Module, or `object` in a project without the DOM types. */
export type WasmModule =
  typeof globalThis extends { WebAssembly: { Module: { prototype: infer M } } } ? M : object;
/** A compiled module, its bytes, or its address: a URL, or a string relative to the page. */
export type Source = WasmModule | ArrayBuffer | ArrayBufferView | { readonly href: string } | string;
export function compile(source?: Source, model?: Uint8Array): Promise<WasmModule>;
/** Set the function that reads file addresses. The module for node sets it. */
export function readFilesWith(read: (url: any) => Promise<ArrayBufferView>): void;

/** An instance of the library with its own memory. */
export class Runtime {
  constructor(module: WasmModule);
  /** Functions of the module. */
  readonly calls: any;
}
/** Load a model into an instance synchronously. Gzip is not supported: call `unpacked` first. */
export function loadInto(runtime: Runtime, bytes: Uint8Array,
                         symbols?: Record<string, number | string>,
                         constants?: Record<string, number | number[]>, limits?: Limits): Model;
export function unpacked(bytes: ArrayBuffer | Uint8Array): Promise<Uint8Array>;
/** Limits of a compiled model; 0 or undefined stands for the default. */
export interface Limits {
  maxFileBytes?: number; maxSessionBytes?: number; maxStepWork?: number; maxOutputs?: number;
  maxBuffers?: number;
}
/** Load a model; for the output of `rill compile`, the result is a CompiledModel. */
export function load(bytes: ArrayBuffer | Uint8Array,
                     options?: {
                       symbols?: Record<string, number | string>;
                       constants?: Record<string, number | number[]>;
                       wasm?: Source;
                       limits?: Limits;
                     }): Promise<Model>;
