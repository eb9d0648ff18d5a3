// A server of files on this machine, for tests and for a first look.

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const kTypes = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".mjs": "text/javascript",
  ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml",
};

/** Serve a folder on `port`, 0 for a free one. Return the server and its address. */
export function serve(folder, port = 0) {
  const server = createServer((request, answer) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
    let file = join(folder, path);
    if (existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
    if (!file.startsWith(folder) || !existsSync(file)) {
      answer.writeHead(404).end("not found");
      return;
    }
    answer.writeHead(200, { "content-type": kTypes[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(answer);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () =>
    resolve({ server, address: `http://127.0.0.1:${server.address().port}` })));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  const { address } = await serve(folder, 8080);
  console.log(`${address}/demo/`);
}
