// A small model in ONNX.

/** A field of a protobuf message: text, a message below 16384 bytes, or a small number. */
function field(number, value) {
  if (typeof value === "number") return [number << 3, value];
  const data = typeof value === "string" ? [...Buffer.from(value)] : value;
  return [(number << 3) | 2, (data.length & 127) | 128, data.length >> 7, ...data];
}

/** y = gain * x + state, and state_out = y, each of [1, 2] f32, in ONNX. */
export function runningSum() {
  const node = (op, inputs, output) => field(1, [
    ...inputs.flatMap((name) => field(1, name)), ...field(2, output), ...field(4, op)]);
  const value = (number, name, ...extents) => {
    const shape = extents.flatMap((extent) => field(1, field(1, extent)));
    return field(number, [...field(1, name),
                          ...field(2, field(1, [...field(1, 1), ...field(2, shape)]))]);
  };
  const graph = [...node("Mul", ["x", "gain"], "scaled"), ...node("Add", ["scaled", "state"], "y"),
                 ...node("Identity", ["y"], "state_out"), ...field(2, "sum"),
                 ...value(11, "x", 1, 2), ...value(11, "gain"), ...value(11, "state", 1, 2),
                 ...value(12, "y", 1, 2), ...value(12, "state_out", 1, 2)];
  return Uint8Array.from([...field(1, 8), ...field(7, graph), ...field(8, field(2, 17))]);
}
