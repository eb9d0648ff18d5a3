// Reads files of numpy.savez: uncompressed zips of little-endian arrays.

const kTypes = {
  f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array,
  i8: BigInt64Array, u1: Uint8Array, b1: Uint8Array,
};

function npy(bytes) {
  const wide = bytes[6] >= 2;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const begin = wide ? 12 : 10;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder("latin1").decode(bytes.subarray(begin, begin + length));
  const type = /'descr': '[<|]?(\w+)'/.exec(header)[1];
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(",").filter((x) => x.trim()).map(Number);
  const data = new kTypes[type](bytes.slice(begin + length).buffer);
  if (!/'fortran_order': True/.test(header)) return { data, shape };
  const rows = new data.constructor(data.length);
  const place = shape.map(() => 0);
  for (let i = 0; i < data.length; ++i) {
    let at = 0;
    for (let axis = shape.length - 1; axis >= 0; --axis) at = at * shape[axis] + place[axis];
    rows[i] = data[at];
    for (let axis = shape.length - 1; axis >= 0 && ++place[axis] === shape[axis]; --axis) {
      place[axis] = 0;
    }
  }
  return { data: rows, shape };
}

/** Read all arrays: {name: {data, shape}}. */
export function readNpz(file) {
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let end = bytes.length - 22;
  while (view.getUint32(end, true) !== 0x06054b50) --end;
  const out = {};
  let at = view.getUint32(end + 16, true);
  for (let count = view.getUint16(end + 10, true); count > 0; --count) {
    if (view.getUint16(at + 10, true) !== 0) throw new Error("compressed");
    const size = view.getUint32(at + 20, true);
    const name = view.getUint16(at + 28, true);
    const from = view.getUint32(at + 42, true);
    const text = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + name));
    const data = from + 30 + view.getUint16(from + 26, true) + view.getUint16(from + 28, true);
    out[text.replace(/\.npy$/, "")] = npy(bytes.slice(data, data + size));
    at += 46 + name + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return out;
}
