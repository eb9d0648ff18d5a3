package rill;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;

/** What native code can take. */
final class Buffers {
  private Buffers() {}

  static void expectDirect(ByteBuffer buffer) {
    if (buffer == null) throw new NullPointerException("buffer");
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "expected a direct buffer, as ByteBuffer.allocateDirect makes, found one on the heap");
    }
  }

  static void expectWritable(ByteBuffer buffer) {
    expectDirect(buffer);
    if (buffer.isReadOnly()) throw new ReadOnlyBufferException();
  }
}
