/// <reference lib="dom" />
import type { Memory, RillError, Source, StreamInfo } from "./rill.js";
export { RillError } from "./rill.js";

export interface Frames {
  /** Index of the first frame in the stream. */
  frame: number;
  count: number;
  elements: number;
  data: Float32Array;
  /** The second of the context's clock up to which frame i has heard. */
  time(i: number): number;
}

export interface RillNodeInfo {
  output: string;
  /** Delay of the output, without the time to fill a pulse. */
  delaySeconds: number;
  pulseSeconds: number;
  streams: StreamInfo[];
  memory: Memory;
  bytes: number;
  /** Whether the audio thread has a clock for `times`. */
  clock: boolean;
}

export class RillNode extends AudioWorkletNode {
  static create(context: BaseAudioContext, bytes: ArrayBuffer | Uint8Array, options?: {
    rate?: number; symbol?: string; pulse?: number | string;
    symbols?: Record<string, number | string>; output?: string;
    wasm?: Source;
  }): Promise<RillNode>;
  onframes: ((frames: Frames) => void) | null;
  onfail: ((error: RillError) => void) | null;
  /** What the audio thread reports once the model is ready there; `bytes`: its memory. */
  readonly info: RillNodeInfo;
  /** Settles when the model is ready in the audio thread. */
  readonly ready: Promise<RillNodeInfo>;
  times(): Promise<{ times: Uint32Array; step: number; bytes: number }>;
  reset(): void;
  close(): void;
}
