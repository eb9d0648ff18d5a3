package rill;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Passes sound through a model: each call takes some frames and outputs the same number, delayed by
 * {@link #latency} frames of the device, with silence at first. The model has one streaming input,
 * or two with {@link AudioOptions#referenceChannels}. A model of one channel runs on each channel of
 * the device. {@link #process} allocates nothing unless it fails. One thread at a time uses an
 * effect, except for {@link #work}.
 */
public final class Effect implements AutoCloseable {
  private static final Handle.Free FREE = new Handle.Free() {
    @Override
    public void free(long address) {
      Native.freeEffect(address);
    }
  };

  private final Handle handle;
  private final AudioOptions options;
  private final long latency;

  Effect(long address, AudioOptions options, ByteBuffer weights) {
    this.options = options;
    handle = new Handle(this, "effect", address, true, FREE);
    handle.held = weights;
    latency = Native.latencyOfEffect(address);
  }

  /** The lag of the output in frames of the device: exact, and the least possible. */
  public long latency() {
    return latency;
  }

  /**
   * Pass the remaining bytes of a direct buffer, interleaved frames, and write as many frames to
   * {@code out}, which may be the same buffer. Positions stay. Return false if the worker was late:
   * silence then replaces frames, and the stream continues. Errors: ARG, SHAPE for a block that
   * contradicts the options; those of a step.
   */
  public boolean process(ByteBuffer in, ByteBuffer out) {
    return process(in, null, out);
  }

  /**
   * Pass a block for both inputs of a model that needs a reference, such as the output of the
   * loudspeaker; see {@link AudioOptions#referenceChannels}. Errors: as above.
   */
  public boolean process(ByteBuffer in, ByteBuffer reference, ByteBuffer out) {
    Buffers.expectDirect(in);
    Buffers.expectWritable(out);
    int frames = options.framesIn(in);
    if (options.framesIn(out) != frames) {
      throw new IllegalArgumentException(
          "the output and the input have different numbers of frames");
    }
    if (reference != null) {
      Buffers.expectDirect(reference);
      options.expectReference(reference, frames);
    }
    long effect = handle.enter();
    try {
      return Native.processEffect(effect, in, in.position(), reference,
          reference == null ? 0 : reference.position(), out, out.position(),
          options.format.ordinal(), options.channels, options.referenceChannels, frames);
    } finally {
      handle.leave();
    }
  }

  /**
   * Step the waiting pulses of an effect with {@link AudioOptions#worker}, and return their number.
   * Another thread than that of {@link #process} calls it several times per pulse. During the call,
   * other threads may only call process, bypass and late.
   */
  public long work() {
    long effect = handle.enter();
    try {
      return Native.work(effect);
    } finally {
      handle.leave();
    }
  }

  /** Run the steps in process instead of work, for rendering faster than real time. */
  public void offline(boolean on) {
    set(0, on);
  }

  /** The pulses that a worker finished late since the last reset. */
  public long late() {
    long effect = handle.enter();
    try {
      return Native.late(effect);
    } finally {
      handle.leave();
    }
  }

  /** Play the input, with the latency of the output, or the output. The change fades over 5 ms. */
  public void bypass(boolean on) {
    set(1, on);
  }

  /** Return to the state of a new effect. */
  public void reset() {
    set(2, true);
  }

  private void set(int what, boolean on) {
    long effect = handle.enter();
    try {
      Native.setEffect(effect, what, on);
    } finally {
      handle.leave();
    }
  }

  /** Save the state of the stream to a new direct buffer. */
  public ByteBuffer save() {
    long effect = handle.enter();
    try {
      long size = Native.stateSizeOfEffect(effect);
      ByteBuffer bytes = ByteBuffer.allocateDirect((int) size).order(ByteOrder.nativeOrder());
      bytes.limit((int) Native.saveEffect(effect, bytes, (int) size));
      return bytes;
    } finally {
      handle.leave();
    }
  }

  /**
   * Continue a saved stream of an effect with the same model and options. The bytes need not be
   * trusted. Errors: PARSE, and those of a session; the effect is then reset.
   */
  public void load(ByteBuffer bytes) {
    ByteBuffer own = ByteBuffer.allocateDirect(Math.max(1, bytes.remaining()));
    own.put(bytes.duplicate());
    long effect = handle.enter();
    try {
      Native.loadEffect(effect, own, bytes.remaining());
    } finally {
      handle.leave();
    }
  }

  @Override
  public void close() {
    handle.close();
  }
}
