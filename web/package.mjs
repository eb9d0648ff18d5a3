// Assemble the package in web/dist: sources, a processor.js without imports, modules and licences.
//   node web/package.mjs [RILL.wasm RILL_ONNX.wasm RILL_RUN.wasm]
// Without modules, those of an earlier build in web/dist stay; `npm pack` runs this, and fails if there are none.

import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

import { flattened } from "./flatten.mjs";

const kModules = ["rill.wasm", "rill_onnx.wasm", "rill_run.wasm"];
const here = (path) => new URL(path, import.meta.url);

mkdirSync(here("dist/"), { recursive: true });
for (const path of process.argv.slice(2)) {
  if (!kModules.includes(basename(path))) throw new Error(`${path}: expected one of ${kModules}`);
  copyFileSync(path, here(`dist/${basename(path)}`));
}
for (const name of readdirSync(here("src/"))) {
  if (/\.(js|d\.ts)$/.test(name)) copyFileSync(here(`src/${name}`), here(`dist/${name}`));
}
// Bundlers copy this file unchanged, without its imports.
writeFileSync(here("dist/processor.js"), flattened(here("src/processor.js")));
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(here(`../${name}`), here(`dist/${name}`));
const missing = kModules.filter((name) => !existsSync(here(`dist/${name}`)));
if (missing.length > 0) {
  console.error(`web/dist has no ${missing.join(", ")}: run scripts/web.sh first`);
  process.exit(1);
}
