package rill;

/** The kind of failure, as {@code rill_status} of rill.h. */
public enum Status {
  OK, ARG, IO, PARSE, UNSUPPORTED, SHAPE, DTYPE, SYMBOL, PULSE, STATE, NOMEM, ABI, INTERNAL;

  private static final Status[] ALL = values();

  static Status of(int code) {
    return code >= 0 && code < ALL.length ? ALL[code] : INTERNAL;
  }
}
