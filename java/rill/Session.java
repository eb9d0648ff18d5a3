package rill;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * One run or one stream of a plan. Its inputs and outputs are direct buffers in the machine's byte
 * order, which belong to Java and outlive the session. The calls from {@link #step} to {@link
 * #finish} allocate nothing unless they fail. A session belongs to one thread at a time: a call
 * during another one throws {@link IllegalStateException}, as does any call after {@link #close}. A
 * second close does nothing.
 */
public final class Session implements AutoCloseable {
  private static final Handle.Free FREE = new Handle.Free() {
    @Override
    public void free(long address) {
      Native.freeSession(address);
    }
  };

  private final Handle handle;
  private final List<TensorInfo> inputs;
  private final List<TensorInfo> outputs;
  // The memory that the native session reads and writes, which must outlive it.
  private final ByteBuffer[][] buffers;
  private final ByteBuffer weights;

  /** @param weights the memory of a plan that is read in place; null if the plan owns its memory */
  Session(long address, List<TensorInfo> inputs, List<TensorInfo> outputs, ByteBuffer weights) {
    this.inputs = inputs;
    this.outputs = outputs;
    this.weights = weights;
    handle = new Handle(this, "session", address, false, FREE);
    buffers = new ByteBuffer[][] {new ByteBuffer[inputs.size()], new ByteBuffer[outputs.size()]};
    handle.held = new Object[] {buffers, weights};
    long session = handle.enter();
    try {
      for (int dir = 0; dir < 2; ++dir) {
        for (int i = 0; i < buffers[dir].length; ++i) {
          TensorInfo info = (dir == 0 ? inputs : outputs).get(i);
          if (info.bytes < 0 || info.bytes > Integer.MAX_VALUE || info.dtype.bytes == 0) continue;
          int bytes = (int) info.bytes;
          ByteBuffer own = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
          Native.copyOut(session, dir, i, own);
          Native.bind(session, dir, i, own, 0, bytes);
          buffers[dir][i] = own;
        }
      }
    } finally {
      handle.leave();
    }
  }

  /** Return the buffer of an input, the same one at each call. */
  public ByteBuffer input(int index) {
    return buffer(0, index);
  }

  /** Return the buffer of an output, the same one at each call. */
  public ByteBuffer output(int index) {
    return buffer(1, index);
  }

  /** Read an input from the remaining bytes of the app's direct buffer. Errors: ARG if their number
   * is wrong. */
  public void bindInput(int index, ByteBuffer data) {
    Buffers.expectDirect(data);
    bind(0, index, data);
  }

  /** Write an output to the remaining bytes of the app's direct buffer. */
  public void bindOutput(int index, ByteBuffer data) {
    Buffers.expectWritable(data);
    bind(1, index, data);
  }

  /** Run the whole graph, or the next pulse. */
  public void step() {
    long session = handle.enter();
    try {
      Native.step(session);
    } finally {
      handle.leave();
    }
  }

  /** Run the last pulse. Its first `frames` frames end the stream; the rest is ignored. */
  public void stepPartial(long frames) {
    long session = handle.enter();
    try {
      Native.stepPartial(session, frames);
    } finally {
      handle.leave();
    }
  }

  /** Run a step of the tail, if frames are left; return the number left afterwards. */
  public long flush() {
    long session = handle.enter();
    try {
      return Native.flush(session);
    } finally {
      handle.leave();
    }
  }

  /** Return the index of the first valid frame of an output after the last step. */
  public long validFirst(int output) {
    long session = handle.enter();
    try {
      return Native.validFirst(session, output);
    } finally {
      handle.leave();
    }
  }

  /** Return the number of valid frames of an output after the last step. */
  public long validCount(int output) {
    long session = handle.enter();
    try {
      return Native.validCount(session, output);
    } finally {
      handle.leave();
    }
  }

  /**
   * Push frames of a streaming input from the remaining bytes of a direct buffer: any number of
   * whole frames, row-major, with the input's shape except along its streaming axis. Return the
   * number taken: fewer if outputs must be pulled first. The position of the buffer stays.
   */
  public long push(int input, ByteBuffer frames) {
    Buffers.expectDirect(frames);
    long session = handle.enter();
    try {
      return Native.push(session, input, frames, frames.position(), frames.remaining());
    } finally {
      handle.leave();
    }
  }

  /**
   * Pull frames of a streaming output into the remaining bytes of a direct buffer, as many as fit,
   * without the delay. Return the number written. If the output streams along a later axis, its
   * rows are spaced for all frames that fit. The position of the buffer stays.
   */
  public long pull(int output, ByteBuffer frames) {
    Buffers.expectWritable(frames);
    long session = handle.enter();
    try {
      return Native.pull(session, output, frames, frames.position(), frames.remaining());
    } finally {
      handle.leave();
    }
  }

  /** End the stream: all frames have been pushed. */
  public void finish() {
    long session = handle.enter();
    try {
      Native.finish(session);
    } finally {
      handle.leave();
    }
  }

  /** Restart; inputs and outputs keep their values. */
  public void reset() {
    long session = handle.enter();
    try {
      Native.reset(session);
    } finally {
      handle.leave();
    }
  }

  /** Make a session that continues from the same state. */
  public Session copy() {
    long session = handle.enter();
    try {
      return new Session(Native.cloneSession(session), inputs, outputs, weights);
    } finally {
      handle.leave();
    }
  }

  /** Return the maximum number of bytes that {@link #saveState} writes. */
  public long stateSize() {
    long session = handle.enter();
    try {
      return Native.stateSize(session);
    } finally {
      handle.leave();
    }
  }

  /** Write the state of a stream to the remaining bytes of a direct buffer; return the number of
   * bytes. */
  public long saveState(ByteBuffer bytes) {
    Buffers.expectWritable(bytes);
    long session = handle.enter();
    try {
      return Native.saveState(session, bytes, bytes.position(), bytes.remaining());
    } finally {
      handle.leave();
    }
  }

  /** Continue a saved stream. Errors: PARSE, STATE. */
  public void loadState(ByteBuffer bytes) {
    Buffers.expectDirect(bytes);
    long session = handle.enter();
    try {
      Native.loadState(session, bytes, bytes.position(), bytes.remaining());
    } finally {
      handle.leave();
    }
  }

  @Override
  public void close() {
    handle.close();
  }

  private ByteBuffer buffer(int dir, int index) {
    if (index < 0 || index >= buffers[dir].length) {
      throw new IndexOutOfBoundsException((dir == 0 ? "input " : "output ") + index + " of "
          + buffers[dir].length);
    }
    return buffers[dir][index];
  }

  private void bind(int dir, int index, ByteBuffer data) {
    buffer(dir, index);
    long session = handle.enter();
    try {
      Native.bind(session, dir, index, data, data.position(), data.remaining());
      buffers[dir][index] = data;
    } finally {
      handle.leave();
    }
  }
}
