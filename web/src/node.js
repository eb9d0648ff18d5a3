// rill in node: WebAssembly modules are read from the disk; everything else is as in browsers.

import { readFile } from "node:fs/promises";

import { readFilesWith } from "./rill.js";

readFilesWith(readFile);

export * from "./rill.js";
