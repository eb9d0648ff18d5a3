package rill;

/** The type of a tensor's elements, as {@code rill_dtype} of rill.h. */
public enum DType {
  BOOL(1), U8(1), U16(2), U32(4), U64(8), I8(1), I16(2), I32(4), I64(8), F16(2), BF16(2), F32(4),
  F64(8), STRING(0), DIM(8), QU8(1), QI8(1), QI32(4), BLOB(0);

  /** Bytes of one element; 0 if elements have no fixed size. */
  public final int bytes;

  private static final DType[] ALL = values();

  DType(int bytes) {
    this.bytes = bytes;
  }

  static DType of(long code) {
    if (code < 0 || code >= ALL.length) throw new IllegalArgumentException("type " + code);
    return ALL[(int) code];
  }
}
