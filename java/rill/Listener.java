package rill;

import java.nio.ByteBuffer;

/**
 * Analyses sound: blocks of the device go in, frames of the model's outputs come out. A model of one
 * channel hears the mean of the device's channels. {@link #push} allocates nothing unless it fails.
 * A listener belongs to one thread at a time.
 */
public final class Listener implements AutoCloseable {
  private static final Handle.Free FREE = new Handle.Free() {
    @Override
    public void free(long address) {
      Native.freeListener(address);
    }
  };

  private final Handle handle;
  private final AudioOptions options;
  // The axis of frames of each output.
  private final int[] axes;

  Listener(long address, AudioOptions options, int[] axes, ByteBuffer weights) {
    this.options = options;
    this.axes = axes;
    handle = new Handle(this, "listener", address, false, FREE);
    handle.held = weights;
  }

  /** The largest lag of an output in frames of the device; -1 if it does not stream. */
  public long latency(int output) {
    long listener = handle.enter();
    try {
      return Native.latencyOfListener(listener, output);
    } finally {
      handle.leave();
    }
  }

  /**
   * Push the remaining bytes of a direct buffer, interleaved frames, and write the new frames of an
   * output, floats, one after the other, to the remaining bytes of {@code frames}. Return the number
   * of new frames. Positions stay. Errors: ARG if not all new frames fit: the first ones are then
   * written; SHAPE; those of a step.
   */
  public long push(ByteBuffer sound, int output, ByteBuffer frames) {
    return push(sound, null, output, frames);
  }

  /**
   * Push a block for both inputs of a model that needs a reference; see
   * {@link AudioOptions#referenceChannels}. Errors: as above.
   */
  public long push(ByteBuffer sound, ByteBuffer reference, int output, ByteBuffer frames) {
    Buffers.expectDirect(sound);
    int count = options.framesIn(sound);
    if (reference != null) {
      Buffers.expectDirect(reference);
      options.expectReference(reference, count);
    }
    return heard(sound, reference, count, output, frames);
  }

  /** End the stream, and write the rest of an output. Errors: as above. */
  public long finish(int output, ByteBuffer frames) {
    return heard(null, null, 0, output, frames);
  }

  private long heard(ByteBuffer sound, ByteBuffer reference, int count, int output,
      ByteBuffer frames) {
    Buffers.expectWritable(frames);
    if (output < 0 || output >= axes.length || axes[output] < 0) {
      throw new IndexOutOfBoundsException("output " + output + " does not stream");
    }
    long listener = handle.enter();
    try {
      return Native.heard(listener, sound, sound == null ? 0 : sound.position(), reference,
          reference == null ? 0 : reference.position(), options.format.ordinal(), options.channels,
          options.referenceChannels, count, output, axes[output], frames, frames.position(),
          frames.remaining());
    } finally {
      handle.leave();
    }
  }

  /** Return to the state of a new listener. */
  public void reset() {
    long listener = handle.enter();
    try {
      Native.resetListener(listener);
    } finally {
      handle.leave();
    }
  }

  @Override
  public void close() {
    handle.close();
  }
}
