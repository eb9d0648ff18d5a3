package rill;

/**
 * Options of {@link Plan#open}, and limits on the cost of the model. 0 means the default of a
 * limit, which is far above real models.
 */
public final class OpenOptions {
  private boolean readFile;
  private long maxFileBytes;
  private long maxSessionBytes;
  private long maxStepWork;
  private long maxOutputs;
  private long maxBuffers;

  /** Copy the file or buffer into memory; set it if others may change the file or buffer later. */
  public OpenOptions readFile(boolean read) {
    readFile = read;
    return this;
  }

  /** Set the maximum bytes of the file; 0: 16 GiB. */
  public OpenOptions maxFileBytes(long most) {
    maxFileBytes = most;
    return this;
  }

  /** Set the maximum bytes of a session with the default maxPush; 0: 4 GiB. */
  public OpenOptions maxSessionBytes(long most) {
    maxSessionBytes = most;
    return this;
  }

  /**
   * Set the maximum work of a step: touched elements plus operations; 8 multiply-adds of a matmul
   * count as one. 0: 2^32 for a stream, 2^36 for a whole run.
   */
  public OpenOptions maxStepWork(long most) {
    maxStepWork = most;
    return this;
  }

  /** Set the maximum number of outputs, and of inputs; 0: 65 536. */
  public OpenOptions maxOutputs(long most) {
    maxOutputs = most;
    return this;
  }

  /** Set the maximum number of buffers; 0: 1 048 576. */
  public OpenOptions maxBuffers(long most) {
    maxBuffers = most;
    return this;
  }

  boolean copies() {
    return readFile;
  }

  /** Return all options in the order of the native side. */
  long[] all() {
    return new long[] {readFile ? 1 : 0, maxFileBytes, maxSessionBytes, maxStepWork, maxOutputs,
        maxBuffers};
  }
}
