package rill;

/** Rates, channels and blocks of a device, for {@link Effect} and {@link Listener}. */
public final class AudioOptions {
  /** The type of a sample in a buffer, in the machine's byte order. */
  public enum Format {
    /** Full scale is 2^15. */
    I16(2),
    /** Full scale is 2^31. */
    I32(4),
    /** Full scale is 1. */
    F32(4);

    public final int bytes;

    Format(int bytes) {
      this.bytes = bytes;
    }
  }

  int channels = 1;
  long deviceRate;
  long modelRate;
  long block;
  boolean worker;
  int referenceChannels;
  int crossings;
  Format format = Format.F32;

  /** @param deviceRate frames of the device per second */
  public AudioOptions(long deviceRate) {
    this.deviceRate = deviceRate;
  }

  /** Set the rate of the model in Hz; by default the model's property rill.sample_rate. */
  public AudioOptions modelRate(long hertz) {
    modelRate = hertz;
    return this;
  }

  /** Set the channels of the device, whose samples are interleaved; 1 by default. */
  public AudioOptions channels(int count) {
    channels = count;
    return this;
  }

  /** Set the frames of each call, or a divisor of them, for less latency; by default any number. */
  public AudioOptions block(long frames) {
    block = frames;
    return this;
  }

  /** Run the steps of an effect in a thread that calls {@link Effect#work}, a pulse later. */
  public AudioOptions worker(boolean on) {
    worker = on;
    return this;
  }

  /**
   * Set the channels of the second input, such as the output of the loudspeaker. Samples are
   * interleaved. By default the model has one input.
   */
  public AudioOptions referenceChannels(int count) {
    referenceChannels = count;
    return this;
  }

  /** Set the zero crossings of the resamplers' sinc, 8 to 256; 32 by default. */
  public AudioOptions crossings(int count) {
    crossings = count;
    return this;
  }

  /** Set the format of samples; F32 by default. */
  public AudioOptions format(Format kind) {
    format = kind;
    return this;
  }

  long[] all() {
    return new long[] {channels, deviceRate, modelRate, block, worker ? 1 : 0, referenceChannels,
        crossings};
  }

  /** Return the number of frames that remain in a buffer. Errors: partial frames. */
  int framesIn(java.nio.ByteBuffer sound) {
    return framesIn(sound, channels);
  }

  /** Check that as many whole frames of the reference remain in a buffer as of the sound. */
  void expectReference(java.nio.ByteBuffer reference, int frames) {
    if (referenceChannels < 1) {
      throw new IllegalArgumentException("the options set no referenceChannels");
    }
    if (framesIn(reference, referenceChannels) != frames) {
      throw new IllegalArgumentException(
          "the reference and the sound have different numbers of frames");
    }
  }

  private int framesIn(java.nio.ByteBuffer sound, int count) {
    int frame = count * format.bytes;
    if (sound.remaining() % frame != 0) {
      throw new IllegalArgumentException("a buffer does not hold whole frames of " + count
          + " channels");
    }
    return sound.remaining() / frame;
  }
}
