/// <reference lib="dom" />
import type { Memory, RillError, Source, StreamInfo } from "./rill.js";
export { RillError } from "./rill.js";

export interface Frames {
  /** Index of the first frame in the stream. */
  frame: number;
  count: number;
  elements: number;
  data: Float32Array;
  /** The time, in seconds of the context's clock, of the last input sample on which frame i depends. */
  time(i: number): number;
}

export interface RillNodeInfo {
  output: string;
  /** Delay of the output in seconds, without the time to fill a pulse. */
  delaySeconds: number;
  pulseSeconds: number;
  streams: StreamInfo[];
  memory: Memory;
  bytes: number;
  /** Whether the audio thread has a clock for `times`. */
  clock: boolean;
}

export interface RillEffectInfo {
  output: string;
  /** Lag of the output in frames of the context, exact. */
  latency: number;
  latencySeconds: number;
  pulseSeconds: number;
  streams: StreamInfo[];
  memory: Memory;
  bytes: number;
  /** Whether the audio thread has a clock for `times`. */
  clock: boolean;
}

export interface NodeOptions {
  rate?: number; symbol?: string; pulse?: number | string;
  /** LEFT, STEP and RIGHT of `Model.window`, in place of `pulse`. */
  window?: [number, number, number];
  symbols?: Record<string, number | string>; output?: string;
  wasm?: Source;
}

/** A model in the audio thread. */
declare class ModelNode<Info> extends AudioWorkletNode {
  onfail: ((error: RillError | Error) => void) | null;
  /** The report of the audio thread once the model is ready there; `bytes`: its memory. */
  readonly info: Info;
  /** Settles when the model is ready in the audio thread. */
  readonly ready: Promise<Info>;
  times(): Promise<{ times: Uint32Array; step: number; bytes: number }>;
  reset(): void;
  close(): void;
}

/** Runs its input through a model, and reports the frames. */
export class RillNode extends ModelNode<RillNodeInfo> {
  static create(context: BaseAudioContext, bytes: ArrayBuffer | Uint8Array,
                options?: NodeOptions): Promise<RillNode>;
  onframes: ((frames: Frames) => void) | null;
}

/** Passes its input through a model, and plays the output. */
export class RillEffect extends ModelNode<RillEffectInfo> {
  static create(context: BaseAudioContext, bytes: ArrayBuffer | Uint8Array,
                options?: NodeOptions & { channels?: number }): Promise<RillEffect>;
  /** Lag of the output in frames of the context, exact. */
  readonly latency: number;
  readonly latencySeconds: number;
  /** Whether the delayed input plays in place of the output. The second input of the node is that of the model. */
  bypass: boolean;
}
