package rill;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A prepared model: immutable, and shared by any number of threads and sessions. A call after
 * {@link #close} throws {@link IllegalStateException}; a second close does nothing.
 */
public final class Plan implements AutoCloseable {
  private static final Handle.Free FREE = new Handle.Free() {
    @Override
    public void free(long address) {
      Native.freePlan(address);
    }
  };

  private final Handle handle;
  private final List<TensorInfo> inputs;
  private final List<TensorInfo> outputs;
  // The memory of a plan that is read in place; null if the plan owns its memory.
  private final ByteBuffer weights;

  Plan(long address) {
    this(address, null);
  }

  private Plan(long address, ByteBuffer weights) {
    this.weights = weights;
    handle = new Handle(this, "plan", address, true, FREE);
    handle.held = weights;
    inputs = all(address, 0);
    outputs = all(address, 1);
  }

  /**
   * Open the file of a compiled model, as {@code rill compile} writes it. Its weights stay in the
   * file. Errors: RillException IO, PARSE, ABI, UNSUPPORTED; NOMEM if it costs more than the limits.
   */
  public static Plan open(String path) {
    return open(path, new OpenOptions());
  }

  /** Open a file with options. Errors: as above; ARG for a limit below 0. */
  public static Plan open(String path, OpenOptions options) {
    return new Plan(Native.openPlan(path.getBytes(StandardCharsets.UTF_8), options.all()));
  }

  /**
   * Open a compiled model in the remaining bytes of a direct buffer, such as a mapped file or an
   * asset; its position stays. The weights are read in place if the bytes begin at a multiple of
   * 64, as in a mapped file; else they are copied once. The plan and its sessions keep the buffer
   * alive. Its bytes must not change until the plan and all sessions are closed, unless {@link
   * OpenOptions#readFile} requests a copy. Errors: as above, without IO.
   */
  public static Plan open(ByteBuffer bytes) {
    return open(bytes, new OpenOptions());
  }

  /** Open a buffer with options. Errors: as above; ARG for a limit below 0. */
  public static Plan open(ByteBuffer bytes, OpenOptions options) {
    Buffers.expectDirect(bytes);
    long[] all = options.all();
    ByteBuffer own = bytes.duplicate();
    if (options.copies() || Native.offsetIn64(own, own.position()) != 0) {
      own = Buffers.alignedCopy(own);
    }
    return new Plan(Native.openDirect(own, own.position(), own.remaining(), all), own);
  }

  /** Open a file; another name of {@link #open(String)}. */
  public static Plan load(String path) {
    return open(path);
  }

  /** Open a file; another name of {@link #open(String, OpenOptions)}. */
  public static Plan load(String path, OpenOptions options) {
    return open(path, options);
  }

  public List<TensorInfo> inputs() {
    return inputs;
  }

  public List<TensorInfo> outputs() {
    return outputs;
  }

  /** Return the properties of the model's file, such as its sample rate or licence, as text. */
  public Map<String, String> properties() {
    long plan = handle.enter();
    try {
      Map<String, String> found = new LinkedHashMap<String, String>();
      int count = Native.propertiesOfPlan(plan);
      for (int i = 0; i < count; ++i) {
        byte[][] property = Native.propertyOfPlan(plan, i);
        found.put(new String(property[0], StandardCharsets.UTF_8),
            new String(property[1], StandardCharsets.UTF_8));
      }
      return Collections.unmodifiableMap(found);
    } finally {
      handle.leave();
    }
  }

  /** Describe how an output streams. Errors: ARG; STATE if the plan does not stream. */
  public StreamInfo stream(int output) {
    long plan = handle.enter();
    try {
      return new StreamInfo(Native.streamOfPlan(plan, output));
    } finally {
      handle.leave();
    }
  }

  /** Make a session with all the memory of one run or stream. It stays usable after the plan is
   * closed. */
  public Session open() {
    return open(0);
  }

  /** As above; a push accepts `maxPush` frames if outputs were pulled before it; 0: one pulse. */
  public Session open(long maxPush) {
    long plan = handle.enter();
    try {
      return new Session(Native.open(plan, maxPush), inputs, outputs, weights);
    } finally {
      handle.leave();
    }
  }

  /**
   * Make an effect that plays output 0. Errors: ARG for a plan that does not suit an effect, and for
   * invalid rates, channels or blocks; UNSUPPORTED for rates whose resampler is too large.
   */
  public Effect effect(AudioOptions options) {
    long plan = handle.enter();
    try {
      return new Effect(Native.newEffect(plan, options.all()), options, weights);
    } finally {
      handle.leave();
    }
  }

  /** Make a listener. Errors: as above. */
  public Listener listener(AudioOptions options) {
    int[] axes = new int[outputs.size()];
    long plan = handle.enter();
    try {
      long address = Native.newListener(plan, options.all());
      for (int i = 0; i < axes.length; ++i) axes[i] = (int) Native.streamOfPlan(plan, i)[0];
      return new Listener(address, options, axes, weights);
    } finally {
      handle.leave();
    }
  }

  @Override
  public void close() {
    handle.close();
  }

  private static List<TensorInfo> all(long plan, int dir) {
    List<TensorInfo> found = new ArrayList<TensorInfo>();
    int count = Native.countOfPlan(plan, dir);
    for (int i = 0; i < count; ++i) found.add(new TensorInfo(Native.ioOfPlan(plan, dir, i)));
    return Collections.unmodifiableList(found);
  }
}
