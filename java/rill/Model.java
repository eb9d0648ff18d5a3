package rill;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A loaded model, whose symbols can be bound and whose stream symbol can be pulsed. A model belongs
 * to one thread at a time: a call during another one throws {@link IllegalStateException}, as does
 * any call after {@link #close}. A second close does nothing.
 */
public final class Model implements AutoCloseable {
  private static final Handle.Free FREE = new Handle.Free() {
    @Override
    public void free(long address) {
      Native.freeModel(address);
    }
  };

  private final Handle handle;

  private Model(long address) {
    handle = new Handle(this, "model", address, false, FREE);
  }

  /** Load an archive, a folder, a graph or an ONNX file. Errors: RillException IO, PARSE, ... */
  public static Model load(String path) {
    return load(path, null);
  }

  /** As above, with values of ONNX inputs that become constants: "sr=16000;h=0,0". */
  public static Model load(String path, String constants) {
    return new Model(Native.load(utf8(path), constants == null ? null : utf8(constants)));
  }

  /** Load from bytes, such as an asset. The array may be changed afterwards. */
  public static Model load(byte[] bytes) {
    if (bytes == null) throw new NullPointerException("bytes");
    return new Model(Native.loadMemory(bytes, null));
  }

  /** Load the remaining bytes of a direct buffer, such as a mapped file; its position stays. */
  public static Model load(ByteBuffer bytes) {
    Buffers.expectDirect(bytes);
    return new Model(Native.loadDirect(bytes, bytes.position(), bytes.remaining(), null));
  }

  /** Version of rill: "0.1.0". */
  public static String version() {
    return text(Native.version());
  }

  /** Compiler, build type and operators in one line. */
  public static String buildInfo() {
    return text(Native.buildInfo());
  }

  public List<TensorInfo> inputs() {
    return all(0);
  }

  public List<TensorInfo> outputs() {
    return all(1);
  }

  /** Return the free symbols. */
  public List<String> symbols() {
    long model = handle.enter();
    try {
      List<String> names = new ArrayList<String>();
      for (int i = 0;; ++i) {
        byte[] name = Native.symbol(model, i);
        if (name == null) return Collections.unmodifiableList(names);
        names.add(text(name));
      }
    } finally {
      handle.leave();
    }
  }

  /** Return the properties of the file as text. */
  public Map<String, String> properties() {
    long model = handle.enter();
    try {
      Map<String, String> found = new LinkedHashMap<String, String>();
      int count = Native.properties(model);
      for (int i = 0; i < count; ++i) {
        byte[][] property = Native.property(model, i);
        found.put(text(property[0]), text(property[1]));
      }
      return Collections.unmodifiableMap(found);
    } finally {
      handle.leave();
    }
  }

  /** Replace a symbol by a number or an expression in other symbols. Errors: SYMBOL, STATE. */
  public Model set(String symbol, String expression) {
    long model = handle.enter();
    try {
      Native.setSymbol(model, utf8(symbol), utf8(expression));
      return this;
    } finally {
      handle.leave();
    }
  }

  public Model set(String symbol, long value) {
    return set(symbol, Long.toString(value));
  }

  /** Pulse the model to `frames` frames per step. Errors: PULSE, with node, reason and remedy. */
  public Model pulse(String symbol, long frames) {
    return pulse(symbol, Long.toString(frames));
  }

  /** As above; `frames` may be "auto" or "auto:min=8,max_delay=20". */
  public Model pulse(String symbol, String frames) {
    long model = handle.enter();
    try {
      Native.pulse(model, utf8(symbol), utf8(frames));
      return this;
    } finally {
      handle.leave();
    }
  }

  /**
   * Compute whole windows of {@code left + step + right} frames of a symbol, for models that cannot
   * stream exactly. Each step gives the {@code step} frames in the middle; an output without the
   * symbol gets a new first axis, with one row per step. The frames differ from those of the whole run.
   * Errors: RillException PULSE, STATE, SYMBOL.
   */
  public Model window(String symbol, long left, long step, long right) {
    long model = handle.enter();
    try {
      Native.window(model, utf8(symbol), left, step, right);
      return this;
    } finally {
      handle.leave();
    }
  }

  /** Feed an output of each step to an input of the next. */
  public Model feedback(String output, String input) {
    long model = handle.enter();
    try {
      Native.feedback(model, utf8(output), utf8(input));
      return this;
    } finally {
      handle.leave();
    }
  }

  /** Prepend the last frames of the previous step to each step of an input. */
  public Model context(String input, long frames) {
    long model = handle.enter();
    try {
      Native.context(model, utf8(input), frames);
      return this;
    } finally {
      handle.leave();
    }
  }

  /** Copy the model; the copies share weights. */
  public Model copy() {
    long model = handle.enter();
    try {
      return new Model(Native.cloneModel(model));
    } finally {
      handle.leave();
    }
  }

  /** Write an archive for the suffix .tgz, .tar or .zip, else a folder. Errors: IO, ARG. */
  public void save(String path) {
    long model = handle.enter();
    try {
      Native.save(model, utf8(path));
    } finally {
      handle.leave();
    }
  }

  /** Make a plan. The model is not needed afterwards. Errors: SYMBOL, UNSUPPORTED, ... */
  public Plan prepare() {
    long model = handle.enter();
    try {
      return new Plan(Native.prepare(model, false, 0));
    } finally {
      handle.leave();
    }
  }

  @Override
  public void close() {
    handle.close();
  }

  private List<TensorInfo> all(int dir) {
    long model = handle.enter();
    try {
      List<TensorInfo> found = new ArrayList<TensorInfo>();
      int count = Native.countOfModel(model, dir);
      for (int i = 0; i < count; ++i) found.add(new TensorInfo(Native.ioOfModel(model, dir, i)));
      return Collections.unmodifiableList(found);
    } finally {
      handle.leave();
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
