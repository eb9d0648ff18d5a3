// Compiled models have the bits of the models that they were compiled from, and errors name the cause.
// RILL names the program that compiles them: build/release/bin/rill unless it is set.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { CompiledModel, Model, RillError, compile, load } from "../dist/node.js";
import { altered } from "./altered.mjs";
import { cut, kFolder, modelsThere, random, symbolsOf } from "./models.mjs";
import { readNpz } from "./npz.mjs";
import { runningSum } from "./onnx.mjs";

const rill = process.env.RILL ?? fileURLToPath(new URL("../../build/release/bin/rill", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "rill-compiled-"));
after(() => rmSync(work, { recursive: true }));

/** Compile a file with the program. */
function compiledFile(path, ...flags) {
  const out = join(work, "compiled.rill");
  execFileSync(rill, ["compile", path, ...flags, "--no-audit", "-o", out],
               { stdio: ["ignore", "ignore", "pipe"] });
  return readFileSync(out);
}
/** Compile a model of tests/models. */
const compiled = (name, ...flags) =>
  compiledFile(fileURLToPath(new URL(`${name}/model.nnef.tgz`, kFolder)), ...flags);
const setFlags = (symbols) =>
  Object.entries(symbols).flatMap(([name, value]) => ["--set", `${name}=${value}`]);

const vad = (...flags) => compiled("vad_speech", "--set", "B=1", "--pulse", "S=480", ...flags);
const wasmVad = vad("--target", "wasm");
const nnefVad = readFileSync(new URL("vad_speech/model.nnef.tgz", kFolder));
const sound = Float32Array.from({ length: 4800 }, (_, i) => Math.sin(i * i * 1e-4));

/** Assert that outputs have the expected bits. */
function same(found, expected, what) {
  assert.deepEqual(Object.keys(found), Object.keys(expected), what);
  for (const name of Object.keys(expected)) {
    const [a, b] = [found[name], expected[name]].map((each) => each.data ?? each);
    assert.equal(a.constructor, b.constructor, `${what}: ${name}`);
    const bytes = [a, b].map((each) => Buffer.from(each.buffer, each.byteOffset, each.byteLength));
    assert.equal(Buffer.compare(...bytes), 0, `${what}: ${name} differs`);
    assert.deepEqual(found[name].shape, expected[name].shape);
  }
}

const refuses = (call, pattern) => assert.throws(call, (error) => {
  assert.ok(error instanceof RillError, String(error));
  assert.match(`${error.code}: ${error.message}`, pattern);
  assert.ok(error.hint, "the error has no remedy");
  return true;
});

// Plans with steps that run an operator of a graph.
const kWithOperators = new Set(["index_update", "llm_kv", "llm_kv_sdpa", "mlp_multi_output",
                                "slice_update", "upsampled_2d"]);

/** Load a plan; assert that a plan with operators is refused, and return null for it. */
async function loaded(name, bytes) {
  if (!kWithOperators.has(name)) return load(bytes);
  await assert.rejects(load(bytes), (error) =>
    error.code === "unsupported" && /operators/.test(error.detail) && /rill\.wasm/.test(error.hint));
  return null;
}

/** Return whether a model can be pulsed with its other symbols left free. */
function pulses(model, { symbol, pulse }) {
  try {
    model.pulse(symbol, pulse).close();
    return true;
  } catch (error) {
    assert.equal(error.code, "pulse", String(error));
    return false;
  }
}

for (const each of modelsThere()) {
  test(`${each.name} gives the bits of its archive in a whole run`, async () => {
    const model = await load(each.file("model.nnef.tgz"));
    const bundle = readNpz(each.file("io.npz"));
    const flags = setFlags(symbolsOf(model, bundle));
    const plan = await loaded(each.name, compiled(each.name, ...flags, "--target", "wasm"));
    if (!plan) return;
    assert.ok(plan instanceof CompiledModel && plan instanceof Model);
    assert.equal(plan.pulsed, 0);
    same(plan.run(bundle), model.run(bundle), "the first run");
    same(plan.run(bundle), model.run(bundle), "the second run");
    refuses(() => plan.stream(), /state: .*compiled whole.*run\(\).*--pulse/);
    refuses(() => plan.pulse("S", 8), /pulse: .*compiled whole.*--pulse S=8/);
    plan.close();
    model.close();
  });

  if (!each.symbol || each.bidirectional) continue;
  test(`${each.name} gives the bits of its archive in a stream`, async () => {
    const model = await load(each.file("model.nnef.tgz"));
    const bundle = readNpz(each.file("io.npz"));
    const symbols = symbolsOf(model, bundle, each.symbol);
    const plan = await loaded(each.name, compiled(each.name, ...setFlags(symbols), "--pulse",
                                                  `${each.symbol}=${each.pulse}`, "--target", "wasm"));
    if (!plan) return;
    // The program sets symbols after the pulse, like `pulse` with free symbols, unless the model can
    // only be pulsed with bound symbols.
    const ones = Object.values(symbols).every((value) => value === 1);
    const alike = ones && pulses(model, each);
    const bound = model.with(alike ? {} : symbols);
    const streams = [bound.pulse(each.symbol, each.pulse), plan.stream()];
    assert.equal(plan.pulsed, streams[0].pulse);
    assert.deepEqual(streams[1].inputs, streams[0].inputs);
    assert.deepEqual(streams[1].outputs, streams[0].outputs);
    assert.deepEqual(plan.streams, streams[0].streams);
    const runtimes = streams.map((stream) => stream.runtime);
    const begin = (stream) => {
      for (const io of stream.inputs) if (io.axis < 0) stream.set(io.name, bundle[io.name].data);
      return stream;
    };
    streams.forEach(begin);
    const moving = streams[0].inputs.filter((io) => io.axis >= 0);
    const shares = moving.map((io) => bundle[io.name].shape[io.axis]);
    const lead = Math.min(...shares);
    const draw = random(each.name.length);
    let memory = 0;
    for (let round = 0; round < 2; ++round) {
      const move = round === 0 ? 1 + Math.floor(draw() * lead) : lead;
      for (let at = 0, moved = false; at < lead;) {
        const count = Math.min(lead - at, 1 + Math.floor(draw() * 3 * each.pulse));
        const frames = Object.fromEntries(moving.map((io, i) => {
          const scale = shares[i] / lead;
          return [io.name, cut(bundle[io.name], io.axis, at * scale, count * scale)];
        }));
        const [expected, found] = streams.map((stream) => stream.push(frames));
        same(found, expected, `round ${round}, frames from ${at} on`);
        at += count;
        if (round === 1) {
          memory ||= runtimes[1].calls.memory.buffer.byteLength;
          assert.equal(runtimes[1].calls.memory.buffer.byteLength, memory, "the memory has grown");
        }
        if (moved || at < move) continue;
        moved = true;
        // Each stream continues from the state of the other kind, and its clone from its own state.
        const states = streams.map((stream) => stream.save());
        if (alike) states.reverse();
        const next = [begin(bound.pulse(each.symbol, each.pulse)), begin(plan.stream())];
        next.forEach((stream, i) => stream.restore(states[i]));
        const copy = next[1].clone();
        [...streams, next[1]].forEach((stream) => stream.close());
        streams.splice(0, 2, next[0], copy);
      }
      const [expected, found] = streams.map((stream) => stream.finish());
      same(found, expected, `round ${round}, the end`);
      streams.forEach((stream) => stream.reset());
    }
    refuses(() => plan.run(bundle), /state: .*compiled for a pulse.*stream\(\)/);
    [...streams, plan, bound, model].forEach((one) => one.close());
  });
}

test("gzip, a view into a larger buffer, and a file of several targets load", async () => {
  const expected = (await load(wasmVad)).stream().push(sound);
  assert.ok((await load(gzipSync(wasmVad))) instanceof CompiledModel);
  const memory = new Uint8Array(wasmVad.length + 3);
  memory.set(wasmVad, 3);
  same((await load(memory.subarray(3))).stream().push(sound), expected, "a view");
  const both = await load(vad("--target", "avx2,wasm"));
  same(both.stream().push(sound), expected, "two targets");
});

test("an ONNX file whose states are fed back streams", async () => {
  const file = join(work, "sum.onnx");
  writeFileSync(file, runningSum());
  const plan = await load(compiledFile(file, "--constantize", "gain=3", "--feedback", "state_out=state",
                                       "--target", "wasm"));
  const model = await load(runningSum(), { constants: { gain: 3 } });
  const [found, expected] = [plan.stream(), model.feedback({ state_out: "state" }).stream()];
  const frames = Float32Array.of(0, 1, 2, 3);
  same(found.push(frames), expected.push(frames), "the beginning");
  assert.deepEqual([...found.clone().push(Float32Array.of(1, 1)).y], [9, 15]);
  expected.restore(found.save());
  same(found.push(frames), expected.push(frames), "from the state of the other kind");
  found.reset();
  assert.deepEqual([...found.push(frames).y], [0, 3, 6, 12]);
});

test("quantised weights, and a plan without notes, run", async () => {
  const exact = (await load(wasmVad)).stream().push(sound).speech;
  for (const [weights, tolerance] of [["f16", 1e-3], ["q8", 2e-2], ["q4", 0.5]]) {
    const { speech } = (await load(vad("--target", "wasm", "--weights", weights))).stream().push(sound);
    assert.ok(speech.every((x, i) => Math.abs(x - exact[i]) <= tolerance), weights);
    assert.notDeepEqual(speech, exact);
  }
  const plain = await load(vad("--target", "wasm", "--no-notes"));
  same(plain.stream().push(sound), { speech: exact }, "no notes");
  assert.equal(plain.stream().profile(3).length, plain.nodes.length);
});

test("ten minutes of sound leave the memory unchanged", async () => {
  const stream = (await load(wasmVad)).stream();
  const block = sound.subarray(0, 480);
  stream.push(block);
  const before = stream.runtime.calls.memory.buffer.byteLength;
  for (let i = 0; i < (600 * 16000) / 480; ++i) stream.push(block);
  assert.equal(stream.runtime.calls.memory.buffer.byteLength, before);
});

test("a stream outlives its model, and closed models free their files", async () => {
  const wasm = await compile(undefined, wasmVad);
  const model = await load(wasmVad, { wasm });
  const copy = model.with({});
  const stream = model.stream();
  model.close();
  copy.close();
  const expected = (await load(wasmVad)).stream().push(sound);
  same(stream.push(sound), expected, "closed");
  assert.throws(() => model.stream(), /closed/);
  assert.throws(() => model.with({}), /closed/);
  const { runtime } = stream;
  const one = async () => {
    const { CompiledModel: Compiled } = await import("../dist/compiled.js");
    const again = Compiled.load(runtime, wasmVad);
    again.stream().close();
    again.close();
  };
  await one();
  const before = runtime.calls.memory.buffer.byteLength;
  for (let i = 0; i < 200; ++i) await one();
  assert.equal(runtime.calls.memory.buffer.byteLength, before);
  same(stream.finish(), { speech: new Float32Array(0) }, "the end");
});

test("settings that the compilation fixed are refused, with the remedy", async () => {
  const model = await load(wasmVad);
  assert.deepEqual(model.symbols, []);
  assert.equal(model.properties.exported_py_class, "SpeechDetector");
  assert.ok(model.nodes.some(({ op }) => op === "STFT"));
  assert.ok(model.memory.weights > 100000);
  refuses(() => model.pulse("S", 160), /pulse: .*480 frames.*stream\(\).*rill compile .*S=160 --target wasm/);
  refuses(() => model.window("S", 480, 160, 320),
          /pulse: .*480 frames.*stream\(\).*rill compile .*--window S=480,160,320 --target wasm/);
  refuses(() => model.with({ B: 2 }), /symbol: .*B.*rill compile .*--set B=2/);
  refuses(() => model.feedback({ y: "x" }), /state: .*rill compile .*--feedback y=x/);
  refuses(() => model.context({ x: 4 }), /state: .*rill compile .*--context x=4/);
  await assert.rejects(load(wasmVad, { symbols: { B: 1 } }), /symbol B/);
  await assert.rejects(load(wasmVad, { constants: { a: 1 } }), /--constantize/);
  assert.throws(() => model.stream({ maxPush: -1 }), /max_push/);
});

test("a plan for another target is refused; the error names the right target", async () => {
  for (const target of ["avx2", "avx512", "scalar"]) {
    await assert.rejects(load(vad("--target", target)), (error) => {
      assert.ok(error instanceof RillError);
      assert.equal(error.code, "unsupported");
      assert.match(error.detail, new RegExp(target));
      assert.match(error.hint, /rill compile MODEL --target wasm/);
      return true;
    });
  }
});

test("each module names the files that it does not load", async () => {
  const [run, models] = [await compile(undefined, wasmVad), await compile(undefined, nnefVad)];
  const refused = async (bytes, wasm, pattern) => assert.rejects(load(bytes, { wasm }), (error) =>
    error instanceof RillError && pattern.test(error.message));
  await refused(nnefVad, run, /only runs compiled models.*rill compile/);
  await refused(wasmVad, models, /no compiled models.*rill_run\.wasm/);
  assert.ok((await load(wasmVad, { wasm: run })) instanceof CompiledModel);
});

test("a module for one model runs it, and names the missing step of another model", async () => {
  for (const weights of ["f32", "q8"]) {
    const folder = new URL(`../../build/wasm_run/vad_speech/${weights}/`, import.meta.url);
    const [bytes, wasm] = ["model.rill", "rill_run.wasm"].map((file) => readFileSync(new URL(file, folder)));
    const expected = (await load(bytes)).stream();
    const stream = (await load(bytes, { wasm })).stream();
    same(stream.push(sound), expected.push(sound), weights);
    same(stream.finish(), expected.finish(), weights);
    const kws = compiled("kws_gru", "--set", "B=1", "--pulse", "S=8", "--target", "wasm");
    await assert.rejects(load(kws, { wasm }), (error) => error instanceof RillError &&
      error.code === "unsupported" && /kind of steps "/.test(error.detail) &&
      /scripts\/web_run\.sh/.test(error.hint));
  }
});

test("more frames than fit into memory are refused", async () => {
  const streams = [(maxPush) => plan.stream({ maxPush }),
                   (maxPush) => model.pulse("S", 480, { maxPush })];
  const [plan, model] = [await load(wasmVad), await load(nnefVad)];
  for (let bits = 37; bits < 52; ++bits) {
    for (const open of streams) {
      assert.throws(() => open(2 ** bits + 480), (error) =>
        error instanceof RillError && /no memory/.test(error.message), `2 ** ${bits}`);
    }
  }
  same(plan.stream().push(sound), model.pulse("S", 480).push(sound), "afterwards");
});

test("a model that costs more than its limits is refused", async () => {
  const enough = { maxFileBytes: wasmVad.length, maxSessionBytes: 2 ** 30, maxStepWork: 2 ** 40,
                   maxOutputs: 1, maxBuffers: 2 ** 20 };
  const within = (await load(wasmVad, { limits: enough })).stream();
  same(within.push(sound), (await load(wasmVad)).stream().push(sound), "within its limits");
  for (const [limit, few] of [["maxFileBytes", wasmVad.length - 1], ["maxSessionBytes", 64],
                              ["maxStepWork", 10], ["maxBuffers", 1]]) {
    await assert.rejects(load(wasmVad, { limits: { [limit]: few } }), (error) =>
      error instanceof RillError && error.code === "memory" && /limit/.test(error.detail) &&
      error.hint === `Raise ${limit} of limits if you trust the file`, limit);
  }
  for (const wrong of [-1, 1.5, NaN, "8", 2 ** 60]) {
    await assert.rejects(load(wasmVad, { limits: { maxBuffers: wrong } }), /maxBuffers.*0 or more/);
  }
  await assert.rejects(load(wasmVad, { limits: { maxNodes: 1 } }), /no limit maxNodes.*maxFileBytes/);
  await assert.rejects(load(nnefVad, { limits: { maxBuffers: 1 } }), /limit maxBuffers.*not compiled/);
});

test("truncated or altered files are refused, and break nothing", async () => {
  const wasm = await compile(undefined, wasmVad);
  const counts = { refused: 0, opened: 0 };
  for (const bytes of altered(wasmVad, 400, random(11))) {
    try {
      const stream = (await load(bytes, { wasm })).stream();
      stream.push(sound.subarray(0, 960));
      stream.finish();
      counts.opened += 1;
    } catch (error) {
      assert.ok(error instanceof RillError, `${error.name}: ${error.message}`);
      counts.refused += 1;
    }
  }
  assert.ok(counts.refused > 200 && counts.opened > 0, JSON.stringify(counts));
});
