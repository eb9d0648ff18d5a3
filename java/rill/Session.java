package rill;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * One run or one stream of a plan. Its inputs and outputs are direct buffers in the machine's byte
 * order, which belong to Java and outlive the session. From {@link #step} to {@link #finish} nothing
 * is allocated unless a call fails. A session belongs to one thread at a time; a call during another
 * one is refused with {@link IllegalStateException}, as is any call after {@link #close}. Closing it
 * again does nothing.
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
  // The memory that the native session reads and writes, which has to live as long.
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

  /** The buffer that an input is read from, the same one at each call. */
  public ByteBuffer input(int index) {
    return buffer(0, index);
  }

  /** The buffer that an output is written to, the same one at each call. */
  public ByteBuffer output(int index) {
    return buffer(1, index);
  }

  /** Read an input from what remains in a direct buffer of the app's own. Errors: ARG for its size. */
  public void bindInput(int index, ByteBuffer data) {
    Buffers.expectDirect(data);
    bind(0, index, data);
  }

  /** Write an output to what remains in a direct buffer of the app's own. */
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

  /** Run the last pulse, of which the first so many frames are valid. */
  public void stepPartial(long frames) {
    long session = handle.enter();
    try {
      Native.stepPartial(session, frames);
    } finally {
      handle.leave();
    }
  }

  /** Run a step of the tail, if frames are left; tells how many are left then. */
  public long flush() {
    long session = handle.enter();
    try {
      return Native.flush(session);
    } finally {
      handle.leave();
    }
  }

  /** The first frame of an output that the last step gave. */
  public long validFirst(int output) {
    long session = handle.enter();
    try {
      return Native.validFirst(session, output);
    } finally {
      handle.leave();
    }
  }

  /** How many frames of an output the last step gave. */
  public long validCount(int output) {
    long session = handle.enter();
    try {
      return Native.validCount(session, output);
    } finally {
      handle.leave();
    }
  }

  /**
   * Take frames of an input that streams, from what remains in a direct buffer: any number of whole
   * frames, row by row in the input's shape but for the extent that streams. Tells how many were
   * taken: fewer where outputs have to be pulled before. The position of the buffer stays.
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
   * Hand out frames of an output that streams into what remains in a direct buffer, as many as fit,
   * without the delay. Tells how many were written, from the first on; the rows of an output that
   * streams along a later axis are as far apart as all that fit. The position of the buffer stays.
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

  /** Say that all frames have been pushed. */
  public void finish() {
    long session = handle.enter();
    try {
      Native.finish(session);
    } finally {
      handle.leave();
    }
  }

  /** Begin anew; the values of inputs and outputs stay as they are. */
  public void reset() {
    long session = handle.enter();
    try {
      Native.reset(session);
    } finally {
      handle.leave();
    }
  }

  /** Make a session that goes on as this one would. */
  public Session copy() {
    long session = handle.enter();
    try {
      return new Session(Native.cloneSession(session), inputs, outputs, weights);
    } finally {
      handle.leave();
    }
  }

  /** The most bytes that {@link #saveState} takes. */
  public long stateSize() {
    long session = handle.enter();
    try {
      return Native.stateSize(session);
    } finally {
      handle.leave();
    }
  }

  /** Write the state of a stream to what remains in a direct buffer; tells how many bytes. */
  public long saveState(ByteBuffer bytes) {
    Buffers.expectWritable(bytes);
    long session = handle.enter();
    try {
      return Native.saveState(session, bytes, bytes.position(), bytes.remaining());
    } finally {
      handle.leave();
    }
  }

  /** Go on where a stream was saved. Errors: PARSE, STATE. */
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
