// The library in WebAssembly: memory, texts and errors. It runs in every WebAssembly host, also in an
// AudioWorklet, which has neither TextDecoder nor URL nor fetch.

/** Replace the names of limits in a text by those of `limits` of `load`. Limits of archives are fixed here. */
function withLimits(text) {
  const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return text.replace(/\b(max_[a-z_]+) of rill_open_opts/g, (_, name) => `${camel(name)} of limits`)
      .replace(/Raise max_[a-z_]+ of rill_load_opts if you trust the file(\. )?/g, "")
      .replace(/\. $/, "");
}

/** A failure of rill: the cause, the place, and a remedy. */
export class RillError extends Error {
  /** @param {{code: string, text: string, message: string, node?: string, op?: string,
   *           file?: string, line?: number, hint?: string}} info */
  constructor(info) {
    super(withLimits(info.text || info.message));
    this.name = "RillError";
    /** The kind: "argument", "parse", "pulse", ... @type {string} */
    this.code = info.code;
    /** The found and the expected values. */
    this.detail = info.message;
    /** The node of the graph, or "". */
    this.node = info.node || "";
    /** The operator of that node, or "". */
    this.op = info.op || "";
    this.file = info.file || "";
    this.line = info.line || 0;
    /** The remedy, or "". */
    this.hint = withLimits(info.hint || "");
  }
}

/** Make the error of an invalid call, without calling the library. */
export function misuse(message, hint = "") {
  return new RillError({ code: "argument", text: hint ? `${message}. ${hint}` : message, message, hint });
}

/** Decode UTF-8; each invalid byte becomes U+FFFD. */
function utf8Decode(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i++];
    const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    let point = more > 0 ? first & (0x3f >> more) : first;
    let k = 0;
    while (k < more && (bytes[i + k] & 0xc0) === 0x80) point = (point << 6) | (bytes[i + k++] & 0x3f);
    const whole = k === more && point <= 0x10ffff && (more > 0 || first < 0x80);
    if (whole) i += more;
    text += String.fromCodePoint(whole ? point : 0xfffd);
  }
  return text;
}

function utf8Encode(text) {
  const bytes = [];
  for (const letter of text) {
    const point = letter.codePointAt(0);
    if (point < 0x80) {
      bytes.push(point);
    } else {
      const more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
      bytes.push(((0xf00 >> more) & 0xff) | (point >> (6 * more)));
      for (let k = more - 1; k >= 0; --k) bytes.push(0x80 | ((point >> (6 * k)) & 0x3f));
    }
  }
  return bytes;
}

/** One instance of the library with separate memory. */
export class Runtime {
  /** @param {WebAssembly.Module} module */
  constructor(module) {
    const imports = {};
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      if (kind === "function") (imports[from] ||= {})[name] = this.#imported(name);
    }
    /** @type {any} */
    this.calls = new WebAssembly.Instance(module, imports).exports;
    this.calls._initialize();
  }

  // The library uses no files and no randomness; 52 is "not implemented" in WASI. Only timed steps
  // read the clock; an AudioWorklet may lack one.
  #imported(name) {
    if (name === "clock_time_get") {
      const now = globalThis.performance ? () => performance.now() : () => Date.now();
      return (clock, precision, at) => {
        new DataView(this.calls.memory.buffer).setBigUint64(at, BigInt(Math.round(now() * 1e6)), true);
        return 0;
      };
    }
    if (name === "proc_exit") {
      return (code) => {
        throw new RillError({ code: "internal", message: `rill ended with status ${code}` });
      };
    }
    if (name === "emscripten_notify_memory_growth") return () => {};
    return () => 52;
  }

  /** The bytes of the memory; valid until it grows. */
  bytes(at, length) {
    return new Uint8Array(this.calls.memory.buffer, at, length);
  }
  /** Read a text that ends with a zero byte. */
  text(at) {
    const all = new Uint8Array(this.calls.memory.buffer);
    return utf8Decode(all.subarray(at, all.indexOf(0, at)));
  }
  json(at) {
    return JSON.parse(this.text(at));
  }
  error() {
    return new RillError(this.json(this.calls.web_error()));
  }
  /** Return a handle, or throw the library's error if it is null. */
  made(handle) {
    if (!handle) throw this.error();
    return handle;
  }
  alloc(bytes) {
    const at = this.calls.web_alloc(bytes);
    if (!at) {
      throw new RillError({ code: "memory", message: `no memory for ${bytes} bytes` });
    }
    return at;
  }
  /** Call a function with texts and bytes, which are in the memory during the call. */
  with(values, call) {
    const places = [];
    try {
      for (const value of values) {
        const bytes = typeof value === "string" ? [...utf8Encode(value), 0] : value;
        const at = this.alloc(Math.max(bytes.length, 1));
        places.push(at);
        this.bytes(at, bytes.length).set(bytes);
      }
      return call(...places);
    } finally {
      for (const at of places) this.calls.web_free(at);
    }
  }
}
