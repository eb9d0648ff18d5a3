import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;

import rill.AudioOptions;
import rill.Effect;
import rill.Listener;
import rill.Model;
import rill.Plan;
import rill.Status;

/** Compares effects and listeners with the sums that their models compute. */
final class AudioTest {
  private AudioTest() {}

  /** y(t) = x(t) / 2 + x(t + ahead) / 4. */
  static Plan plan(int ahead, int pulse) {
    String text = "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
        + "graph network(x) -> (y)\n{\n"
        + "  x = tract_core_external(shape = [S], datum_type = 'f32');\n"
        + "  padded = pad(x, padding = [(0, " + ahead + ")], border = 'constant', value = 0.0);\n"
        + "  later = slice(padded, axes = [0], begin = [" + ahead + "], end = [0]);\n"
        + "  half = x * 0.5;\n  quarter = later * 0.25;\n  y = half + quarter;\n}\n";
    try (Model model = Model.load(text.getBytes(StandardCharsets.UTF_8)).pulse("S",
        Integer.toString(pulse))) {
      return model.prepare();
    }
  }

  static ByteBuffer floats(int count) {
    return ByteBuffer.allocateDirect(4 * count).order(ByteOrder.nativeOrder());
  }

  static ByteBuffer noise(int count, int seed) {
    ByteBuffer sound = floats(count);
    Random random = new Random(seed);
    for (int i = 0; i < count; ++i) sound.putFloat(4 * i, random.nextFloat() - 0.5f);
    return sound;
  }

  static ByteBuffer part(ByteBuffer of, int first, int count) {
    ByteBuffer part = of.duplicate().order(ByteOrder.nativeOrder());
    part.position(4 * first);
    part.limit(4 * (first + count));
    return part;
  }

  static float wanted(ByteBuffer sound, int ahead, long t) {
    if (t < 0) return 0;
    FloatBuffer all = sound.asFloatBuffer();
    float later = t + ahead < all.limit() ? all.get((int) t + ahead) : 0;
    return all.get((int) t) * 0.5f + later * 0.25f;
  }

  static void effects(boolean worker) {
    for (int pulse : new int[] {1, 64, 160}) {
      try (Plan plan = plan(17, pulse);
          Effect effect = plan.effect(new AudioOptions(16000).modelRate(16000).worker(worker))) {
        RillTest.expect(effect.latency() == 17 + pulse - 1 + (worker ? pulse : 0),
            "latency " + effect.latency());
        ByteBuffer sound = noise(6400, pulse);
        ByteBuffer found = floats(6400);
        for (int at = 0; at < 6400; at += 64) {
          if (worker && pulse < 64) effect.offline(true);
          RillTest.expect(effect.process(part(sound, at, 64), part(found, at, 64)), "late at " + at);
          if (worker) effect.work();
        }
        for (int i = 0; i < 6400; ++i) {
          float want = wanted(sound, 17, i - effect.latency());
          RillTest.expect(found.getFloat(4 * i) == want, found.getFloat(4 * i) + " at " + i + ", not " + want);
        }
        RillTest.expect(effect.late() == 0, "late pulses");
      }
    }
  }

  static void latePulses() {
    try (Plan plan = plan(1, 64);
        Effect effect = plan.effect(new AudioOptions(16000).modelRate(16000).worker(true))) {
      ByteBuffer sound = noise(64, 1);
      ByteBuffer out = floats(64);
      RillTest.expect(effect.process(sound, out), "the first pulse is not due");
      RillTest.expect(!effect.process(sound, out), "nothing has run");
      RillTest.expect(effect.late() == 1, effect.late() + " late pulses");
    }
  }

  static void states() {
    try (Plan plan = plan(40, 160);
        Effect first = plan.effect(new AudioOptions(44100).modelRate(16000));
        Effect second = plan.effect(new AudioOptions(44100).modelRate(16000))) {
      ByteBuffer sound = noise(3000, 5);
      ByteBuffer one = floats(3000);
      ByteBuffer two = floats(3000);
      first.process(sound, one);
      second.load(first.save());
      first.process(sound, one);
      second.process(sound, two);
      RillTest.equal(two, one, "output after a saved state");
      RillTest.status(Status.PARSE, () -> second.load(noise(100, 1)));
      first.bypass(true);
      first.reset();
    }
  }

  static void listeners() {
    try (Plan plan = plan(9, 100);
        Listener listener = plan.listener(new AudioOptions(16000).modelRate(16000))) {
      ByteBuffer sound = noise(5030, 3);
      ByteBuffer found = floats(5030);
      int count = 0;
      for (int at = 0; at < 5030; at += 503) {
        count += (int) listener.push(part(sound, at, 503), 0, part(found, count, 5030 - count));
      }
      count += (int) listener.finish(0, part(found, count, 5030 - count));
      RillTest.expect(count == 5030, count + " frames");
      for (int i = 0; i < 5030; ++i) {
        RillTest.expect(found.getFloat(4 * i) == wanted(sound, 9, i), "frame " + i);
      }
      listener.reset();
      RillTest.status(Status.ARG, () -> listener.push(sound, 0, floats(10)));
      RillTest.refused(IndexOutOfBoundsException.class, () -> listener.push(sound, 1, floats(10)));
    }
  }

  /** y(t) = x(t) / 2 + r(t) / 4. */
  static void references() {
    String text = "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
        + "graph network(x, r) -> (y)\n{\n"
        + "  x = tract_core_external(shape = [S], datum_type = 'f32');\n"
        + "  r = tract_core_external(shape = [S], datum_type = 'f32');\n"
        + "  half = x * 0.5;\n  quarter = r * 0.25;\n  y = half + quarter;\n}\n";
    AudioOptions options = new AudioOptions(16000).modelRate(16000).referenceChannels(1);
    try (Model model = Model.load(text.getBytes(StandardCharsets.UTF_8)).pulse("S", "50");
        Plan plan = model.prepare();
        Effect effect = plan.effect(options.crossings(16));
        Listener listener = plan.listener(options)) {
      RillTest.status(Status.ARG, () -> plan.effect(new AudioOptions(16000).modelRate(16000)));
      ByteBuffer sound = noise(1000, 1);
      ByteBuffer reference = noise(1000, 2);
      ByteBuffer found = floats(1000);
      RillTest.expect(effect.process(sound, reference, found), "no worker is late");
      ByteBuffer heard = floats(1000);
      RillTest.expect(listener.push(sound, reference, 0, heard) == 1000, "frames that are heard");
      for (int i = 0; i < 1000; ++i) {
        float want = sound.getFloat(4 * i) * 0.5f + reference.getFloat(4 * i) * 0.25f;
        RillTest.expect(heard.getFloat(4 * i) == want, "frame " + i + " that is heard");
        int at = i + (int) effect.latency();
        RillTest.expect(at >= 1000 || found.getFloat(4 * at) == want, "frame " + i);
      }
      RillTest.status(Status.ARG, () -> effect.process(sound, found));
      RillTest.refused(IllegalArgumentException.class,
          () -> effect.process(sound, noise(999, 1), found));
    }
    try (Plan plan = plan(1, 64);
        Effect effect = plan.effect(new AudioOptions(16000).modelRate(16000))) {
      ByteBuffer sound = noise(10, 1);
      RillTest.refused(IllegalArgumentException.class, () -> effect.process(sound, sound, sound));
    }
  }

  static void refusals() {
    try (Plan plan = plan(1, 64)) {
      RillTest.status(Status.ARG, () -> plan.effect(new AudioOptions(48000)));
      RillTest.status(Status.ARG, () -> plan.effect(new AudioOptions(48000).modelRate(-1)));
      RillTest.status(Status.ARG,
          () -> plan.listener(new AudioOptions(48000).modelRate(16000).worker(true)));
      Effect effect = plan.effect(new AudioOptions(48000).modelRate(16000).channels(2));
      ByteBuffer odd = floats(3);
      RillTest.refused(IllegalArgumentException.class, () -> effect.process(odd, odd));
      ByteBuffer few = floats(2);
      RillTest.refused(IllegalArgumentException.class, () -> effect.process(few, floats(4)));
      effect.close();
      effect.close();
      RillTest.refused(IllegalStateException.class, () -> effect.process(few, few));
    }
  }
}
