// Invalid compiled models.

const kMask = (1n << 64n) - 1n;
const kFactor = 0x9e3779b97f4a7c15n;
const kSummedFrom = 48;

/** Return the checksum of the bytes up to the constants, as the header has it. */
function checksum(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sums = [1n, 2n, 3n, BigInt(bytes.length)];
  const take = (which, word) => {
    sums[which] = ((sums[which] ^ word) * kFactor) & kMask;
    sums[which] ^= sums[which] >> 29n;
  };
  let at = 0;
  for (; at + 32 <= bytes.length; at += 32) {
    for (let i = 0; i < 4; ++i) take(i, view.getBigUint64(at + 8 * i, true));
  }
  for (; at < bytes.length; ++at) take(at % 4, BigInt(bytes[at]) + 1n);
  for (let i = 1; i < 4; ++i) take(0, sums[i]);
  return sums[0];
}

/** Write the right checksum into the header. */
function summed(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const constants = Number(view.getBigInt64(24, true));
  if (constants >= kSummedFrom && constants <= bytes.length) {
    view.setBigUint64(32, checksum(bytes.subarray(kSummedFrom, constants)), true);
  }
  return bytes;
}

/** Yield `count` altered files: truncated, with changed bytes in the records or anywhere, or with large
 *  numbers; with and without the right checksum. */
export function* altered(file, count, draw) {
  const below = (most) => Math.floor(draw() * most);
  const constants = Number(new DataView(file.buffer, file.byteOffset).getBigInt64(24, true));
  if (checksum(file.subarray(kSummedFrom, constants)) !==
      new DataView(file.buffer, file.byteOffset).getBigUint64(32, true)) {
    throw new Error("the checksum has another form");
  }
  for (let i = 0; i < count; ++i) {
    const bytes = new Uint8Array(file);
    if (i % 8 === 0) {
      yield bytes.slice(0, 8 + below(file.length - 8));
      continue;
    }
    const end = i % 8 === 1 ? file.length : constants;
    const changes = 1 + below(3);
    for (let k = 0; k < changes; ++k) {
      const at = 8 + below(end - 8);
      if (i % 8 < 5) {
        bytes[at] ^= 1 << below(8);
      } else {
        // A number of several groups of 7 bits.
        for (let j = at; j < Math.min(end, at + 1 + below(8)); ++j) bytes[j] |= 0x80;
      }
    }
    yield i % 8 === 2 ? bytes : summed(bytes);
  }
}
