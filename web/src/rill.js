// rill: neural networks, whole or a few frames at a time, in browsers, workers, AudioWorklets and node.

import { CompiledModel, isCompiled } from "./compiled.js";
import { Model } from "./model.js";
import { refusePage } from "./page.js";
import { RillError, Runtime, misuse } from "./runtime.js";
import { Stream } from "./stream.js";

export { CompiledModel, Model, RillError, Runtime, Stream };

const modules = new Map();
const runtimes = new Map();

/** Return the result of `make`, cached by key unless it fails. */
function kept(map, key, make) {
  if (!map.has(key)) {
    map.set(key, make().catch((error) => {
      map.delete(key);
      throw error;
    }));
  }
  return map.get(key);
}

/** Return the URL of the WebAssembly module that a model needs. Three are next to this file: for NNEF, for
 *  NNEF and ONNX (a quarter larger), and for compiled models only (a quarter of the first). ONNX files begin
 *  with a number that no text begins with. */
function moduleFor(bytes) {
  if (isCompiled(bytes)) return new URL("./rill_run.wasm", import.meta.url);
  return [0x08, 0x12, 0x1a].includes(bytes[0]) ? new URL("./rill_onnx.wasm", import.meta.url)
    : new URL("./rill.wasm", import.meta.url);
}

/** Compile the library: from `source` (a WebAssembly.Module, bytes or an address, relative to the page), or
 *  the module next to this file that suits `model`, the unpacked bytes of a model. */
export async function compile(source = undefined, model = undefined) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  if (source !== undefined) {
    return fetchModule(new URL(source, globalThis.location?.href ?? import.meta.url));
  }
  const url = moduleFor(model ?? []);
  return kept(modules, url.href, () => fetchModule(url));
}

let readFile = null;

/** Set the function that reads the bytes of a `file:` URL, which `fetch` cannot. */
export function readFilesWith(read) {
  readFile = read;
}

async function fetchModule(url) {
  const hint = "Put rill.wasm, rill_onnx.wasm and rill_run.wasm next to the code that imports rill, or pass " +
    "{wasm: URL}; for the server of Vite, add optimizeDeps: {exclude: [\"rill-stream\"]}";
  let bytes;
  try {
    bytes = url.protocol === "file:" && readFile ? await readFile(url)
      : await (await fetchOk(url)).arrayBuffer();
  } catch (cause) {
    throw misuse(`cannot read ${url.href}: ${cause.message}`, hint);
  }
  refusePage(bytes, url.href, hint);
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

/** Unpack gzip, as in .nnef.tgz; return other bytes unchanged. */
export async function unpacked(bytes) {
  const all = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
  if (!ArrayBuffer.isView(all)) throw misuse("expected the bytes of a model");
  if (all.length < 2 || all[0] !== 0x1f || all[1] !== 0x8b) return all;
  if (typeof DecompressionStream === "undefined") {
    throw new RillError({
      code: "unsupported",
      message: "this program cannot unpack gzip",
      hint: "Unpack the model where DecompressionStream exists, and pass its tar",
    });
  }
  try {
    const stream = new Blob([all]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new RillError({ code: "parse", message: "gzip data is damaged or cut short" });
  }
}

/** Load a model from the bytes of its file: NNEF in a tar or tgz, ONNX, or the output of
 *  `rill compile`, which gives a `CompiledModel`. `symbols`: values by name; `constants`, for ONNX:
 *  values of inputs that become constants, `{sr: 16000}`; `wasm`: see `compile`; `limits`: bounds on the
 *  cost of a compiled model, `{maxSessionBytes: 1e8}`. */
export async function load(bytes, { symbols = {}, constants = {}, wasm = undefined, limits = {} } = {}) {
  const plain = await unpacked(bytes);
  refusePage(plain, "the model", "Look at the address of the model, and check `ok` of the answer to fetch");
  let runtime;
  if (wasm === undefined) {
    const module = await compile(undefined, plain);
    runtime = await kept(runtimes, module, async () => new Runtime(module));
  } else {
    runtime = new Runtime(await compile(wasm));
  }
  return loadInto(runtime, plain, symbols, constants, limits);
}

/** Load an unpacked model into an existing runtime, synchronously, for worklets. */
export function loadInto(runtime, bytes, symbols = {}, constants = {}, limits = {}) {
  const model = isCompiled(bytes) ? loadCompiled(runtime, bytes, constants, limits)
    : loadModel(runtime, bytes, constants, limits);
  return Object.keys(symbols).length > 0 ? model.with(symbols) : model;
}

function loadModel(runtime, bytes, constants, limits) {
  const [limit] = Object.keys(limits);
  if (limit !== undefined) {
    throw misuse(`limit ${limit}: the model is not compiled`,
                 "Compile it: rill compile MODEL --target wasm -o PLAN.rill");
  }
  if (!runtime.calls.web_load) {
    throw misuse("this module of WebAssembly only runs compiled models",
                 "Leave out `wasm`, or compile the model: rill compile MODEL --target wasm -o PLAN.rill");
  }
  const numbers = Object.entries(constants).map(([name, value]) => `${name}=${[value].flat()}`);
  return new Model(runtime, runtime.with([bytes, numbers.join(";")], (at, text) =>
    runtime.made(runtime.calls.web_load(at, bytes.length, text))));
}

function loadCompiled(runtime, bytes, constants, limits) {
  if (!runtime.calls.web_compiled_load) {
    throw misuse("this module of WebAssembly runs no compiled models",
                 "Leave out `wasm`, or give it rill_run.wasm");
  }
  const [name] = Object.keys(constants);
  if (name !== undefined) {
    throw misuse(`constant ${name}: the model is compiled`,
                 "Set it there: rill compile MODEL --constantize NAME=VALUE --target wasm -o PLAN.rill");
  }
  return CompiledModel.load(runtime, bytes, limits);
}
