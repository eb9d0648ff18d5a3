// rill: neural networks, whole or a few frames at a time, in browsers, workers, AudioWorklets and node.

import { Model, Stream } from "./model.js";
import { RillError, Runtime, misuse } from "./runtime.js";

export { Model, RillError, Runtime, Stream };

let modulePromise = null;
let runtimePromise = null;

/** Compile rill.wasm: from `source` (a WebAssembly.Module, bytes or URL), or from beside this file. */
export async function compile(source = undefined) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  if (source === undefined && modulePromise) return modulePromise;
  const compiled = fetchModule(new URL(source ?? "./rill.wasm", import.meta.url));
  if (source === undefined) modulePromise = compiled;
  return compiled;
}

async function fetchModule(url) {
  let bytes;
  try {
    bytes = url.protocol === "file:" && typeof process !== "undefined"
      ? await (await import("node:fs/promises")).readFile(url)
      : await (await fetchOk(url)).arrayBuffer();
  } catch (cause) {
    modulePromise = null;
    throw misuse(`cannot read ${url.href}: ${cause.message}`, "Put rill.wasm beside rill.js");
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    throw new RillError({
      code: "unsupported",
      message: `this browser does not compile rill: ${cause.message}`,
      hint: "rill needs WebAssembly with SIMD: Chrome 91, Firefox 89, Safari 16.4, node 16.4",
    });
  }
}

async function fetchOk(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer;
}

/** Make plain what is packed with gzip, as .nnef.tgz is. */
export async function unpacked(bytes) {
  const all = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
  if (!ArrayBuffer.isView(all)) throw misuse("expected the bytes of a model");
  if (all.length < 2 || all[0] !== 0x1f || all[1] !== 0x8b) return all;
  if (typeof DecompressionStream === "undefined") {
    throw new RillError({
      code: "unsupported",
      message: "nothing here unpacks gzip",
      hint: "Unpack the model where DecompressionStream is, and pass on its tar",
    });
  }
  try {
    const stream = new Blob([all]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch (cause) {
    throw new RillError({ code: "parse", message: `damaged gzip data: ${cause.message}` });
  }
}

/** Load a model from the bytes of its file. `symbols`: values by name; `wasm`: see `compile`. */
export async function load(bytes, { symbols = {}, wasm = undefined } = {}) {
  const plain = await unpacked(bytes);
  let runtime;
  if (wasm === undefined) {
    runtimePromise ||= compile().then((module) => new Runtime(module));
    runtime = await runtimePromise.catch((error) => {
      runtimePromise = null;
      throw error;
    });
  } else {
    runtime = new Runtime(await compile(wasm));
  }
  return loadInto(runtime, plain, symbols);
}

/** Load a model that is not packed into a runtime that is there. For worklets, at once. */
export function loadInto(runtime, bytes, symbols = {}) {
  const handle = runtime.with([bytes], (at) =>
    runtime.made(runtime.calls.web_load(at, bytes.length)));
  const model = new Model(runtime, handle);
  return Object.keys(symbols).length > 0 ? model.with(symbols) : model;
}
