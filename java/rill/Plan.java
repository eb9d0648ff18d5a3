package rill;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A model made ready to run: immutable, and shared by any number of threads and sessions. */
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

  Plan(long address) {
    handle = new Handle(this, "plan", address, true, FREE);
    inputs = all(address, 0);
    outputs = all(address, 1);
  }

  /**
   * Open the file of a compiled model, as {@code rill compile} writes it. Its weights stay in the
   * file. Errors: RillException IO, PARSE, ABI, UNSUPPORTED; NOMEM if it costs more than the limits.
   */
  public static Plan load(String path) {
    return load(path, new OpenOptions());
  }

  /** As above, within other limits. Errors: as above; ARG for a limit below 0. */
  public static Plan load(String path, OpenOptions options) {
    return new Plan(Native.openPlan(path.getBytes(StandardCharsets.UTF_8), options.all()));
  }

  public List<TensorInfo> inputs() {
    return inputs;
  }

  public List<TensorInfo> outputs() {
    return outputs;
  }

  /** How an output streams. Errors: ARG; STATE if the plan does not stream. */
  public StreamInfo stream(int output) {
    long plan = handle.enter();
    try {
      return new StreamInfo(Native.streamOfPlan(plan, output));
    } finally {
      handle.leave();
    }
  }

  /** Allocate all that one run or stream needs. The session goes on when the plan is closed. */
  public Session open() {
    return open(0);
  }

  /** As above, for pushes of so many frames while nothing is pulled; 0: a pulse at a time. */
  public Session open(long maxPush) {
    long plan = handle.enter();
    try {
      return new Session(Native.open(plan, maxPush), inputs, outputs);
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
