// rill in node: modules of WebAssembly are read from the disk, all else is as in browsers.

import { readFile } from "node:fs/promises";

import { readFilesWith } from "./rill.js";

readFilesWith(readFile);

export * from "./rill.js";
