package rill;

import java.nio.charset.StandardCharsets;

/** A failure of rill: found and expected values, the place, and a remedy. */
public final class RillException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The kind of failure. */
  public final Status status;
  /** Node of the graph, or empty. */
  public final String node;
  /** Operator of that node, or empty. */
  public final String op;
  /** File, or empty. */
  public final String file;
  /** Line in the file, from 1 on; 0 if unknown. */
  public final int line;
  /** The remedy, or empty. */
  public final String hint;

  RillException(int code, byte[] message, byte[] node, byte[] op, byte[] file, int line,
      byte[] hint) {
    super(text(message));
    this.status = Status.of(code);
    this.node = text(node);
    this.op = text(op);
    this.file = text(file);
    this.line = line;
    this.hint = text(hint);
  }

  private static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
