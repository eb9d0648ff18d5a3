package rill;

/** How an output of a plan streams, as in {@code rill_stream_info}. */
public final class StreamInfo {
  /** The streaming axis of the output; -1 if it does not stream. */
  public final int axis;
  /** Frames of the output per step. */
  public final long pulse;
  /** The frames before the first one of the whole run, which {@link Session#pull} skips. */
  public final long delay;
  /** The first streaming input; -1 if none. */
  public final int input;
  /** Its frames per step. */
  public final long inputPulse;
  /** The delay in frames of that input, rounded up. */
  public final long delayInputFrames;
  /** Frames of the output per frame of the input, as a fraction. */
  public final long rateNumerator;
  public final long rateDenominator;
  /** The maximum number of steps after the last input; -1: unknown. */
  public final long flushSteps;

  StreamInfo(long[] numbers) {
    axis = (int) numbers[0];
    pulse = numbers[1];
    delay = numbers[2];
    input = (int) numbers[3];
    inputPulse = numbers[4];
    delayInputFrames = numbers[5];
    rateNumerator = numbers[6];
    rateDenominator = numbers[7];
    flushSteps = numbers[8];
  }
}
