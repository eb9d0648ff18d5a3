// The published package: entries, licences, types, and texts that bundlers follow.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const kWeb = fileURLToPath(new URL("..", import.meta.url));
const read = (path) => readFileSync(join(kWeb, path), "utf8");
const info = JSON.parse(read("package.json"));
const importsOf = (text) => [...text.matchAll(/(?:from\s+|import\()\s*"([^"]+)"/g)].map(([, path]) => path);

/** Return the files that an entry imports, directly or not. */
function reached(path, all = new Set()) {
  if (all.has(path)) return all;
  all.add(path);
  for (const each of importsOf(read(join("dist", path)))) {
    if (each.startsWith("./")) reached(each.slice(2), all);
  }
  return all;
}

test("the entries for browsers have no modules of node and no bare specifiers", () => {
  for (const entry of ["rill.js", "audio.js", "processor.js"]) {
    for (const file of reached(entry)) {
      const text = read(join("dist", file));
      assert.deepEqual(importsOf(text).filter((path) => !path.startsWith("./")), [], file);
      assert.ok(!/["']node:|\bprocess\.|\brequire\(/.test(text), file);
    }
  }
});

test("processor.js is a module without imports", () => {
  const text = read("dist/processor.js");
  assert.deepEqual(importsOf(text), []);
  assert.ok(!/^(import|export) /m.test(text));
  execFileSync(process.execPath, ["--check", "--input-type=module", "-"], { input: text });
});

test("files are named by literals next to import.meta.url", () => {
  const literals = (file) => [...read(`dist/${file}`).matchAll(/new URL\("\.\/([^"]+)", import\.meta\.url\)/g)]
    .map(([, name]) => name).sort();
  assert.deepEqual(literals("rill.js"), ["rill.wasm", "rill_onnx.wasm", "rill_run.wasm"]);
  assert.deepEqual(literals("audio.js"), ["processor.js"]);
});

test("every entry of the package exists, and every export has a type", async () => {
  const files = Object.values(info.exports).flatMap((each) => typeof each === "string" ? [each] : Object.values(each));
  for (const file of files.filter((each) => !each.endsWith(".wasm"))) assert.ok(existsSync(join(kWeb, file)), file);
  const types = read("dist/rill.d.ts");
  const made = await import(new URL("../dist/rill.js", import.meta.url));
  for (const name of Object.keys(made)) {
    assert.match(types, new RegExp(`export (class|function) ${name}\\b`), name);
  }
  assert.ok(!/WebAssembly\.(Module|Memory)|: URL\b/.test(types.replace(/\/\*\*.*\*\//g, "")), "types of the DOM");
  const node = await import(new URL("../dist/node.js", import.meta.url));
  assert.deepEqual(Object.keys(node).sort(), Object.keys(made).sort());
});

test("an HTML page in place of a file is named", async () => {
  const { load } = await import(new URL("../dist/rill.js", import.meta.url));
  const page = new TextEncoder().encode("\n<!DOCTYPE html><html><body>404</body></html>");
  await assert.rejects(load(page), (error) => error.code === "parse" && /page of HTML/.test(error.message));
  const wasm = `data:text/html,${encodeURIComponent("<html>404</html>")}`;
  await assert.rejects(load(new Uint8Array(100), { wasm }), /page of HTML/);
});

test("npm pack holds licences and fails without modules", (t) => {
  if (spawnSync("npm", ["--version"]).status !== 0) return t.skip("no npm");
  const root = mkdtempSync(join(tmpdir(), "rill-pack-"));
  try {
    for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) cpSync(join(kWeb, "..", name), join(root, name));
    const web = join(root, "web");
    for (const name of readdirSync(kWeb)) {
      if (!["node_modules", "dist"].includes(name)) cpSync(join(kWeb, name), join(web, name), { recursive: true });
    }
    const pack = () => spawnSync("npm", ["pack", "--json", "--dry-run"], { cwd: web, encoding: "utf8" });
    const refused = pack();
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr + refused.stdout, /has no rill\.wasm.*run scripts\/web\.sh/);
    for (const name of ["rill.wasm", "rill_onnx.wasm", "rill_run.wasm"]) {
      cpSync(join(kWeb, "package.json"), join(web, "dist", name));
    }
    const done = pack();
    assert.equal(done.status, 0, done.stderr);
    const files = JSON.parse(done.stdout.slice(done.stdout.indexOf("[")))[0].files.map(({ path }) => path);
    for (const name of ["dist/LICENSE-MIT", "dist/LICENSE-APACHE", "dist/rill.wasm", "dist/processor.js",
                        "dist/node.js", "README.md"]) {
      assert.ok(files.includes(name), name);
    }
    assert.ok(!files.some((path) => path.startsWith("src/") || path.endsWith(".cpp")));
  } finally {
    rmSync(root, { recursive: true });
  }
});
