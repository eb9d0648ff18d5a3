// Detects HTML pages instead of files: for a missing file, many servers send one with status 200.

import { RillError } from "./runtime.js";

/** Throw an error that names `what` if bytes are a page. */
export function refusePage(bytes, what, hint) {
  const head = String.fromCharCode(...new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0,
                                                     Math.min(bytes.byteLength, 64)));
  if (!/^(\xef\xbb\xbf)?\s*<(!doctype|html|head|body|\?xml|!--)/i.test(head)) return;
  throw new RillError({ code: "parse", message: `${what} is a page of HTML`, hint,
                        text: `${what} is a page of HTML. ${hint}` });
}

/** Throw an error that names the page if one is served at `url`. */
export async function refusePageAt(url, hint) {
  let bytes;
  try {
    bytes = await (await fetch(url)).arrayBuffer();
  } catch {
    return;
  }
  refusePage(bytes, url.href, hint);
}
