// The package as npm packs it, in an app: built by each bundler, served, and run in Chromium.
//
//   node bundlers.mjs FOLDER PICTURES [NAME ...]
//
// The script installs the tools and builds the apps in FOLDER. NAME: test only these setups. RILL
// names the program that compiles a model; without it, the app has no compiled model. Exit status
// 77 if npm, a tool or Chromium is missing.

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { runningSum } from "./onnx.mjs";
import { serve } from "./serve.mjs";

const kTools = ["vite@5.4.21", "webpack@5.113.0", "webpack-cli@5.1.4", "esbuild@0.21.5", "rollup@4.68.8",
                "@rollup/plugin-node-resolve@16.0.3", "@web/rollup-plugin-import-meta-assets@2.3.3",
                "typescript@5.9.3", "@types/node@20.19.43", "puppeteer-core@23.11.1"];
const kWeb = fileURLToPath(new URL("..", import.meta.url));
const kScripts = { html: '<script type="module" src="app.js"></script>' };

const [, , folder, pictures, ...names] = process.argv;
if (!folder || !pictures) throw new Error("expected FOLDER and PICTURES");
const root = resolve(folder);
const app = join(root, "app");

function skip(reason) {
  console.error(`bundlers.mjs: skipped, ${reason}`);
  process.exit(77);
}

const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
if (spawnSync("npm", ["--version"]).status !== 0) skip("no npm");
if (!chromium) skip("no Chromium");

mkdirSync(root, { recursive: true });
mkdirSync(pictures, { recursive: true });
if (!existsSync(join(root, "package.json"))) writeFileSync(join(root, "package.json"), '{"private": true}\n');
const there = (tool) => {
  const [, name, version] = /^(.+)@([^@]+)$/.exec(tool);
  const file = join(root, "node_modules", name, "package.json");
  return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === version;
};
const quiet = ["--silent", "--no-audit", "--no-fund"];
if (!kTools.every(there) && spawnSync("npm", ["install", ...quiet, "--save-exact", ...kTools], { cwd: root }).status !== 0) {
  skip("npm cannot install the bundlers");
}
const { default: puppeteer } = await import(pathToFileURL(join(root, "node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js")));

// The package comes from its tarball, as from the registry.
const packed = JSON.parse(execFileSync("npm", ["pack", "--silent", "--json", "--pack-destination", root], { cwd: kWeb, encoding: "utf8" }));
const tarball = join(root, packed[0].filename);
rmSync(app, { recursive: true, force: true });
cpSync(join(kWeb, "tests/app"), app, { recursive: true });
writeFileSync(join(app, "package.json"), '{"private": true, "type": "module"}\n');
execFileSync("npm", ["install", ...quiet, "--no-save", tarball], { cwd: app });
writeFileSync(join(app, "index.html"),
              readFileSync(join(kWeb, "tests/app/index.html"), "utf8").replace("<!-- scripts -->", kScripts.html));
const models = { "sum.onnx": runningSum() };
if (process.env.RILL) {
  const plan = join(root, "model.rill");
  execFileSync(process.env.RILL, ["compile", join(kWeb, "../tests/models/vad_speech/model.nnef.tgz"), "--set", "B=1",
                                  "--pulse", "S=480", "--target", "wasm", "--no-audit", "-o", plan], { stdio: "ignore" });
  models["model.rill"] = readFileSync(plan);
}

const tool = (name, args, options = {}) =>
  execFileSync(join(root, "node_modules/.bin", name), args, { cwd: app, stdio: ["ignore", "ignore", "pipe"], ...options });
/** Complete a folder that a bundler wrote: models, and the page unless the bundler wrote one. */
function completed(name) {
  const out = join(app, name);
  mkdirSync(out, { recursive: true });
  for (const [file, bytes] of Object.entries(models)) writeFileSync(join(out, file), bytes);
  if (!existsSync(join(out, "index.html"))) cpSync(join(app, "index.html"), join(out, "index.html"));
  return out;
}
const dist = () => join(app, "node_modules/rill-stream/dist");
const assets = () => readdirSync(dist()).filter((file) => file.endsWith(".wasm") || file === "processor.js");
const served = async (out) => {
  const { server, address } = await serve(out);
  return { address, close: () => server.close() };
};

/** Run the server of Vite. */
async function viteServer(config) {
  const file = join(app, "vite.dev.mjs");
  writeFileSync(file, `export default ${JSON.stringify(config)};\n`);
  for (const [name, bytes] of Object.entries(models)) {
    mkdirSync(join(app, "public"), { recursive: true });
    writeFileSync(join(app, "public", name), bytes);
  }
  const child = spawn(join(root, "node_modules/.bin/vite"), ["--config", file, "--host", "127.0.0.1", "--port", "0"],
                      { cwd: app, env: { ...process.env, NO_COLOR: "1" } });
  const address = await new Promise((done, failed) => {
    let text = "";
    child.stdout.on("data", (bytes) => {
      text += bytes;
      const [, found] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(text) ?? [];
      if (found) done(found);
    });
    child.on("exit", () => failed(new Error(`vite ended: ${text}`)));
  });
  return { address, close: () => child.kill() };
}

/** A server that answers each missing file with the page and status 200, and all files with one type. */
function badServer(out, { type }) {
  const server = createServer((request, answer) => {
    let file = join(out, new URL(request.url, "http://x").pathname);
    if (!existsSync(file) || request.url === "/") file = join(out, "index.html");
    const page = extname(file) === ".html" || extname(file) === ".js" && !file.endsWith("processor.js");
    answer.writeHead(200, { "content-type": !page ? type : extname(file) === ".js" ? "text/javascript" : "text/html" });
    answer.end(readFileSync(file));
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () =>
    done({ address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() })));
}

const esbuild = (name) => {
  tool("esbuild", ["app.js", "--bundle", "--format=esm", `--outfile=${name}/app.js`, "--log-level=error"]);
  return completed(name);
};

// By name: make an app and serve it. `fails`: the error that it shows.
const setups = {
  "plain folder": { async start() {
    const out = completed("out-plain");
    cpSync(dist(), join(out, "rill"), { recursive: true });
    cpSync(join(app, "app.js"), join(out, "app.js"));
    const map = { imports: { "rill-stream": "./rill/rill.js", "rill-stream/audio": "./rill/audio.js" } };
    writeFileSync(join(out, "index.html"), readFileSync(join(app, "index.html"), "utf8")
      .replace("<script", `<script type="importmap">${JSON.stringify(map)}</script>\n<script`));
    return served(out);
  } },
  "vite build": { async start() {
    writeFileSync(join(app, "vite.build.mjs"), 'export default { base: "./", build: { outDir: "out-vite", target: "es2022" } };\n');
    tool("vite", ["build", "--config", "vite.build.mjs", "--logLevel", "error"]);
    return served(completed("out-vite"));
  } },
  "vite server": { start: () => viteServer({ optimizeDeps: { exclude: ["rill-stream"] } }) },
  "webpack": { async start() {
    writeFileSync(join(app, "webpack.config.mjs"), `export default { mode: "production", entry: "./app.js",
      output: { path: ${JSON.stringify(join(app, "out-webpack"))}, filename: "app.js", module: true },
      experiments: { outputModule: true }, performance: { hints: false } };\n`);
    tool("webpack", ["--config", "webpack.config.mjs"], { env: { ...process.env, NODE_PATH: join(root, "node_modules") } });
    return served(completed("out-webpack"));
  } },
  "rollup": { async start() {
    writeFileSync(join(app, "rollup.config.mjs"), `import resolve from "@rollup/plugin-node-resolve";
      import { importMetaAssets } from "@web/rollup-plugin-import-meta-assets";
      export default { input: "app.js", output: { dir: "out-rollup", format: "es" }, plugins: [resolve(), importMetaAssets()] };\n`);
    tool("rollup", ["--config", "rollup.config.mjs", "--silent"]);
    return served(completed("out-rollup"));
  } },
  "esbuild": { async start() {
    const out = esbuild("out-esbuild");
    for (const file of assets()) cpSync(join(dist(), file), join(out, file));
    return served(out);
  } },
  "esbuild without modules": { start: async () => badServer(esbuild("out-missing"), { type: "text/html" }),
                               fails: /rill\.wasm is a page of HTML.*Put rill\.wasm/ },
  "esbuild without processor.js": { async start() {
    const out = esbuild("out-processor");
    for (const file of assets().filter((each) => each !== "processor.js")) cpSync(join(dist(), file), join(out, file));
    return badServer(out, { type: "application/octet-stream" });
  }, fails: /processor\.js is a page of HTML.*Put processor\.js/ },
  "wrong types": { async start() {
    const out = esbuild("out-types");
    for (const file of assets()) cpSync(join(dist(), file), join(out, file));
    return badServer(out, { type: "text/plain" });
  }, fails: /the audio thread cannot load .*processor\.js.*text\/javascript/ },
  "vite server that rewrites the package": { start: () => viteServer({}), fails: /optimizeDeps/ },
};

/** Compile apps of TypeScript: for node without the DOM, and for pages. */
function checkTypes() {
  const compile = (file, text, ...args) => {
    writeFileSync(join(app, file), text);
    const ran = spawnSync(join(root, "node_modules/.bin/tsc"),
                          ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", ...args, file], { cwd: app, encoding: "utf8" });
    assert.equal(ran.status, 0, ran.stdout);
  };
  const common = `import { CompiledModel, Model, RillError, Runtime, Stream, load } from "rill-stream";
    const model: Model = await load(new Uint8Array(8), { limits: { maxOutputs: 1 } });
    const stream: Stream = model.with({ B: 1 }).pulse("S", 160);
    const state: number = stream.memory.state, frames: number = stream.latency()[0].mostFrames;
    if (model instanceof CompiledModel) { const pulsed: number = model.pulsed; const nodes: string = model.nodes[0].op; }
    try { stream.restore(stream.save()); } catch (error) { if (error instanceof RillError) { const hint: string = error.hint; } }
    export { Runtime, state, frames };\n`;
  compile("node.mts", common, "--lib", "es2022", "--typeRoots", "./none");
  compile("node_types.mts", `import { readFile } from "node:fs/promises";\n${common}`, "--lib", "es2022", "--types", "node",
          "--typeRoots", join(root, "node_modules/@types"));
  compile("page.mts", `${common}import { RillEffect, RillNode } from "rill-stream/audio";
    const context = new AudioContext();
    const effect: RillEffect = await RillEffect.create(context, new ArrayBuffer(8), { channels: 2, rate: 16000 });
    const latency: number = effect.latency; effect.bypass = true; await effect.ready;
    const weights: number = effect.info.memory.weights;
    const node = await RillNode.create(context, new Uint8Array(8));
    node.onframes = ({ data, count, time }) => console.log(data[0], count, time(0), weights, latency);\n`,
          "--lib", "es2022,dom", "--typeRoots", "./none");
  console.log("types: node without the DOM, node with its types, pages");
}

function check(found, { fails }) {
  if (fails) {
    assert.match(found.error ?? JSON.stringify(found), fails);
    return found.error;
  }
  assert.equal(found.error, undefined);
  assert.deepEqual([found.stream, found.effect, found.node], [true, true, true], JSON.stringify(found));
  assert.equal(found.latency, 160 - 32 + 40);
  assert.match(found.refusal, /rill\.sample_rate/);
  assert.ok(found.onnx, JSON.stringify(found));
  assert.equal(Boolean(found.compiled), "model.rill" in models, JSON.stringify(found));
  return `stream, effect with a latency of ${found.latency} frames, node with ${found.frames} frames`;
}

if (names.length === 0) checkTypes();
const browser = await puppeteer.launch({
  executablePath: chromium, headless: true, args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
});
let failures = 0;
try {
  for (const [name, setup] of Object.entries(setups)) {
    if (names.length > 0 && !names.includes(name)) continue;
    let place;
    let page;
    try {
      place = await setup.start();
      page = await browser.newPage();
      const logged = [];
      page.on("pageerror", (error) => logged.push(error.message));
      await page.goto(`${place.address}/`);
      await page.waitForFunction(() => document.body.dataset.result, { timeout: 60000 })
        .catch((error) => { throw new Error(`${error.message} ${logged}`); });
      const found = JSON.parse(await page.evaluate(() => document.body.dataset.result));
      await page.screenshot({ path: join(pictures, `${name.replaceAll(" ", "_")}.png`) });
      console.log(`${name}: ${check(found, setup)}`);
      if (!setup.fails) assert.deepEqual(logged, []);
    } catch (error) {
      failures += 1;
      console.error(`${name}: FAILED: ${error.stderr ?? error.message}`);
    } finally {
      await page?.close();
      place?.close();
    }
  }
} finally {
  await browser.close();
}
process.exit(failures > 0 ? 1 : 0);
