package rill;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;

/** Conversions of buffers for native code. */
final class Buffers {
  private Buffers() {}

  static void expectDirect(ByteBuffer buffer) {
    if (buffer == null) throw new NullPointerException("buffer");
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "expected a direct buffer, as ByteBuffer.allocateDirect makes, found one on the heap");
    }
  }

  /** Copy the remaining bytes of a buffer to an address that is a multiple of 64. */
  static ByteBuffer alignedCopy(ByteBuffer from) {
    ByteBuffer copy = ByteBuffer.allocateDirect(Math.addExact(from.remaining(), 63));
    copy.position((64 - Native.offsetIn64(copy, 0)) % 64);
    int begin = copy.position();
    copy.put(from).limit(copy.position());
    copy.position(begin);
    return copy;
  }

  static void expectWritable(ByteBuffer buffer) {
    expectDirect(buffer);
    if (buffer.isReadOnly()) throw new ReadOnlyBufferException();
  }
}
