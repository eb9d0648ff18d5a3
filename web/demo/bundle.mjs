// Writes the page and its files as one file, which runs from a folder without a server.
//   node web/demo/bundle.mjs OUT.html

import { readFileSync, writeFileSync } from "node:fs";
import { extname, relative } from "node:path";
import { fileURLToPath } from "node:url";

import { flattened } from "../flatten.mjs";

const kRoot = new URL("..", import.meta.url);
const kReference = /(from\s+|new URL\()"(\.\.?\/[^"]+)"(, import\.meta\.url\))?/g;

const nameOf = (url) => relative(fileURLToPath(kRoot), fileURLToPath(url));

/** Return the files in an order in which each comes after the files that it names. */
function collect(url, files = new Map()) {
  const name = nameOf(url);
  if (files.has(name)) return files;
  if (extname(name) !== ".js") return files.set(name, { data: readFileSync(url, "base64") });
  const text = name.endsWith("processor.js") ? flattened(url) : readFileSync(url, "utf8");
  for (const [, , path] of text.matchAll(kReference)) collect(new URL(path, url), files);
  const linked = text.replace(kReference, (all, kind, path, end) => {
    const place = `@@${nameOf(new URL(path, url))}@@`;
    return end ? `new URL("${place}")` : `${kind}"${place}"`;
  });
  return files.set(name, { text: linked });
}

/** Runs in the page: every file becomes a blob, whose address replaces its name in later files. */
async function start(files) {
  const places = {};
  for (const [name, { text, data }] of Object.entries(files)) {
    const bytes = data ? Uint8Array.from(atob(data), (c) => c.charCodeAt(0))
      : text.replace(/@@([^@]+)@@/g, (_, wanted) => places[wanted]);
    const type = data ? "application/wasm" : "text/javascript";
    // The audio thread of a page without a server takes no blobs.
    places[name] = name.endsWith("processor.js") ? `data:${type},${encodeURIComponent(bytes)}`
      : URL.createObjectURL(new Blob([bytes], { type }));
  }
  await import(places["demo/demo.js"]);
}

const [out] = process.argv.slice(2);
if (!out) throw new Error("expected the path of the page to write");
const files = Object.fromEntries(collect(new URL("demo/demo.js", kRoot)));
const json = JSON.stringify(files).replaceAll("<", "\\u003c");
const style = readFileSync(new URL("demo/style.css", kRoot), "utf8");
const page = readFileSync(new URL("demo/index.html", kRoot), "utf8")
  .replace('<link rel="stylesheet" href="style.css">', () => `<style>\n${style}</style>`)
  .replace('<script type="module" src="demo.js"></script>',
           () => `<script type="module">\n(${start})(${json});\n</script>`);
writeFileSync(out, page);
console.log(`${out}: ${page.length} bytes, ${Object.keys(files).length} files`);
