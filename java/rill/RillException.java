package rill;

import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A failure of rill: found and expected values, the place, and a remedy. */
public final class RillException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private static final Pattern LIMIT = Pattern.compile("\\bmax_([a-z]+(?:_[a-z]+)*) of rill_open_opts");

  /** The kind of failure. */
  public final Status status;
  /** Node of the graph, or empty. */
  public final String node;
  /** Operator of that node, or empty. */
  public final String op;
  /** File, or empty. */
  public final String file;
  /** Line in the file, 1-based; 0 if unknown. */
  public final int line;
  /** The remedy, or empty. */
  public final String hint;

  RillException(int code, byte[] message, byte[] node, byte[] op, byte[] file, int line,
      byte[] hint) {
    super(withLimits(text(message)));
    this.status = Status.of(code);
    this.node = text(node);
    this.op = text(op);
    this.file = text(file);
    this.line = line;
    this.hint = withLimits(text(hint));
  }

  /** Replace the names of limits in a message by those of {@link OpenOptions}. */
  private static String withLimits(String text) {
    Matcher limits = LIMIT.matcher(text);
    StringBuffer out = new StringBuffer();
    while (limits.find()) {
      StringBuilder name = new StringBuilder("OpenOptions.max");
      for (String word : limits.group(1).split("_")) {
        name.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
      }
      limits.appendReplacement(out, name.toString());
    }
    return limits.appendTail(out).toString();
  }

  private static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }
}
