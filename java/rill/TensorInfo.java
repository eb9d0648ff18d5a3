package rill;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** An input or output of a model or a plan. */
public final class TensorInfo {
  public final String name;
  public final DType dtype;
  /** One text per axis: "1", "S", "2*S+1". */
  public final List<String> dims;
  /** Bytes of the whole tensor; -1 while an axis is symbolic. */
  public final long bytes;
  /** In a plan: its streaming axis; -1 if it does not stream. */
  public final int streamAxis;
  /** For quantised types: real = (q - zeroPoint) * scale. */
  public final float scale;
  public final int zeroPoint;

  private final long[] shape;

  TensorInfo(Object[] parts) {
    long[] numbers = (long[]) parts[2];
    name = text((byte[]) parts[0]);
    dtype = DType.of(numbers[0]);
    zeroPoint = (int) numbers[1];
    bytes = numbers[2];
    streamAxis = (int) numbers[3];
    scale = Float.intBitsToFloat((int) numbers[4]);
    byte[][] texts = (byte[][]) parts[1];
    List<String> axes = new ArrayList<String>();
    for (byte[] axis : texts) axes.add(text(axis));
    dims = Collections.unmodifiableList(axes);
    shape = (long[]) parts[3];
  }

  /** Return the extents; null while an axis is symbolic. */
  public long[] shape() {
    return shape == null ? null : shape.clone();
  }

  /** Bytes of one frame; -1 unless it streams. */
  public long frameBytes() {
    return streamAxis < 0 || shape == null || shape[streamAxis] == 0 ? -1
        : bytes / shape[streamAxis];
  }

  @Override
  public String toString() {
    return name + ": " + dims + " " + dtype;
  }

  private static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
