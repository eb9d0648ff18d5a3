// A module and its imports as one text, for environments that load a single file, such as the audio thread.

import { readFileSync } from "node:fs";

/** Return the text of a module of this package after those of its imports. All their top-level names differ. */
export function flattened(url, done = new Set()) {
  if (done.has(url.href)) return "";
  done.add(url.href);
  const text = readFileSync(url, "utf8");
  const before = [...text.matchAll(/^import .* from "(.+)";$/gm)]
    .map(([, path]) => flattened(new URL(path, url), done));
  return before.join("") + text.replace(/^import .* from ".+";$/gm, "")
    .replace(/^export \{.*\};$/gm, "").replace(/^export /gm, "");
}
