import type { RillError, StreamInfo } from "./rill.js";
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

export class RillNode extends AudioWorkletNode {
  static create(context: BaseAudioContext, bytes: ArrayBuffer | Uint8Array, options?: {
    rate?: number; symbol?: string; pulse?: number | string;
    symbols?: Record<string, number | string>; output?: string;
    wasm?: WebAssembly.Module | ArrayBuffer | URL | string;
  }): Promise<RillNode>;
  onframes: ((frames: Frames) => void) | null;
  onfail: ((error: RillError) => void) | null;
  readonly info: { delaySeconds: number; pulseSeconds: number; streams: StreamInfo[]; clock: boolean };
  times(): Promise<{ times: Uint32Array; step: number; bytes: number }>;
  reset(): void;
  close(): void;
}
