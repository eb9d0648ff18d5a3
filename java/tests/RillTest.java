import java.io.File;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

import rill.DType;
import rill.Model;
import rill.OpenOptions;
import rill.Plan;
import rill.RillException;
import rill.Session;
import rill.Status;
import rill.StreamInfo;
import rill.TensorInfo;

/** java RillTest RILL-PROGRAM MODELS SCRATCH: run every test; exit status 1 if one fails. */
public final class RillTest {
  interface Body {
    void run() throws Exception;
  }

  static String program;
  static String models;
  static File scratch;
  static int failed;

  static void test(String name, Body body) {
    try {
      body.run();
      System.out.println("ok " + name);
    } catch (Throwable failure) {
      ++failed;
      System.out.println("FAILED " + name);
      failure.printStackTrace(System.out);
    }
  }

  static void expect(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static <T extends Throwable> T refused(Class<T> with, Body body) {
    try {
      body.run();
    } catch (Throwable failure) {
      if (with.isInstance(failure)) return with.cast(failure);
      throw new AssertionError("expected " + with + ", found " + failure, failure);
    }
    throw new AssertionError("expected " + with + ", found nothing wrong");
  }

  static void status(Status expected, Body body) {
    RillException failure = refused(RillException.class, body);
    expect(failure.status == expected, "expected " + expected + ", found " + failure.status);
    expect(!failure.getMessage().isEmpty(), "no message");
  }

  static String archive(String model) {
    return models + "/" + model + "/model.nnef.tgz";
  }

  static Model bound(String model, Map<String, Npz.Array> bundle, String streaming) {
    Model loaded = Model.load(archive(model));
    for (TensorInfo input : loaded.inputs()) {
      long[] shape = bundle.get(input.name).shape;
      for (int axis = 0; axis < shape.length; ++axis) {
        String dim = input.dims.get(axis);
        if (loaded.symbols().contains(dim) && !dim.equals(streaming)) loaded.set(dim, shape[axis]);
      }
    }
    return loaded;
  }

  /** The output of the program, which links the same library. */
  static Map<String, Npz.Array> written(String... arguments) throws Exception {
    String out = new File(scratch, "out.npz").getPath();
    List<String> command = new ArrayList<String>();
    command.add(program);
    for (String argument : arguments) command.add(argument);
    command.add("--save-outputs");
    command.add(out);
    Process process = new ProcessBuilder(command).redirectErrorStream(true)
        .redirectOutput(new File(scratch, "log")).start();
    expect(process.waitFor() == 0, String.join(" ", command));
    return Npz.read(out);
  }

  static void equal(ByteBuffer found, ByteBuffer expected, String what) {
    found = found.duplicate();
    expected = expected.duplicate();
    expect(found.remaining() == expected.remaining(),
        what + ": " + found.remaining() + " bytes, expected " + expected.remaining());
    expect(found.equals(expected), what + ": other bytes, the first at " + first(found, expected));
  }

  static int first(ByteBuffer a, ByteBuffer b) {
    int at = 0;
    while (at < a.remaining() && a.get(a.position() + at) == b.get(b.position() + at)) ++at;
    return at;
  }

  static void wholeRuns(String name) throws Exception {
    String io = models + "/" + name + "/io.npz";
    Map<String, Npz.Array> bundle = Npz.read(io);
    Map<String, Npz.Array> expected = written(archive(name), "-O", "--input-facts-from-bundle", io, "run",
        "--input-from-bundle", io);
    try (Model model = bound(name, bundle, "");
         Plan plan = model.prepare();
         Session session = plan.open()) {
      for (int i = 0; i < plan.inputs().size(); ++i) {
        session.input(i).put(bundle.get(plan.inputs().get(i).name).data.duplicate());
        session.input(i).rewind();
      }
      session.step();
      int compared = 0;
      for (int i = 0; i < plan.outputs().size(); ++i) {
        Npz.Array want = expected.get(plan.outputs().get(i).name);
        equal(session.output(i), want.data, plan.outputs().get(i).name);
        expect(java.util.Arrays.equals(plan.outputs().get(i).shape(), want.shape), "shape");
        ++compared;
      }
      expect(compared > 0, "nothing was compared");
    }
  }

  /** Streams by steps and by pushes of uneven sizes have the frames of the program's stream. */
  static void streams(String name, int pulse) throws Exception {
    String io = models + "/" + name + "/io.npz";
    Map<String, Npz.Array> bundle = Npz.read(io);
    Map<String, Npz.Array> expected = written(archive(name), "-O", "--set", "B=1", "--pulse", "S=" + pulse,
        "stream", "--input-from-bundle", onlyRow(name, bundle));
    try (Model model = Model.load(archive(name)).set("B", 1).pulse("S", pulse);
         Plan plan = model.prepare();
         Session session = plan.open(100)) {
      TensorInfo in = plan.inputs().get(0);
      TensorInfo out = plan.outputs().get(0);
      StreamInfo info = plan.stream(0);
      expect(info.inputPulse == pulse && in.shape()[in.streamAxis] == pulse, "pulse");
      ByteBuffer want = expected.get(out.name).data;
      ByteBuffer input = row(bundle.get(in.name));
      for (int round = 0; round < 2; ++round) {
        ByteBuffer found = ByteBuffer.allocateDirect(want.remaining()).order(ByteOrder.nativeOrder());
        pushed(session, in, out, input.duplicate(), found, round);
        found.flip();
        equal(found, want, "pushed");
        session.reset();
      }
    }
  }

  /** y is x less the largest x of the window; peak, without a frame axis, is a row per window. */
  static final String PEAK = "version 1.0;\nextension tract_registry tract_core;\n"
      + "extension tract_symbol S;\ngraph network(x) -> (y, peak)\n{\n"
      + "  x = tract_core_external(shape = [S], datum_type = 'f32');\n"
      + "  most = max_reduce(x, axes = [0]);\n  y = x - most;\n"
      + "  peak = squeeze(most, axes = [0]);\n}\n";

  /** The largest of frames [begin, begin + count), where frames beyond the sound are zeros. */
  static float largest(float[] sound, int begin, int count) {
    float most = Float.NEGATIVE_INFINITY;
    for (int i = begin; i < begin + count; ++i) {
      most = Math.max(most, i < 0 || i >= sound.length ? 0 : sound[i]);
    }
    return most;
  }

  static void windows(int left, int step, int right) throws Exception {
    float[] sound = new float[23];
    for (int i = 0; i < sound.length; ++i) sound[i] = (i * 7 % 11) - 6;
    ByteBuffer input = ByteBuffer.allocateDirect(4 * sound.length).order(ByteOrder.nativeOrder());
    for (float sample : sound) input.putFloat(sample);
    input.flip();
    try (Model model = Model.load(PEAK.getBytes("UTF-8"));
         Plan plan = model.window("S", left, step, right).prepare();
         Session session = plan.open(100)) {
      expect(plan.stream(0).inputPulse == step && plan.stream(0).delay == right, "delay");
      session.push(0, input);
      session.finish();
      FloatBuffer y = pulled(session, 0, 64);
      expect(y.remaining() == sound.length, y.remaining() + " frames");
      int frames = left + step + right;
      for (int i = 0; i < sound.length; ++i) {
        float most = largest(sound, (i + right) / step * step - right - left, frames);
        expect(y.get(i) == sound[i] - most, "frame " + i + ": " + y.get(i));
      }
      FloatBuffer peak = pulled(session, 1, 64);
      expect(peak.remaining() == (sound.length + step - 1) / step, peak.remaining() + " rows");
      for (int k = 0; k < peak.remaining(); ++k) {
        float most = largest(sound, (k + 1) * step - frames, frames);
        expect(peak.get(k) == most, "row " + k + ": " + peak.get(k));
      }
    }
  }

  static FloatBuffer pulled(Session session, int output, int most) {
    ByteBuffer found = ByteBuffer.allocateDirect(4 * most).order(ByteOrder.nativeOrder());
    long given;
    while ((given = session.pull(output, found)) > 0) {
      found.position(found.position() + (int) (4 * given));
    }
    found.flip();
    return found.asFloatBuffer();
  }

  static void wrongWindows() throws Exception {
    try (Model model = Model.load(PEAK.getBytes("UTF-8"))) {
      RillException failure = refused(RillException.class, () -> model.pulse("S", 2));
      expect(failure.hint.contains("rill_model_window"), failure.hint);
      status(Status.PULSE, () -> model.window("S", 4, 0, 4));
      status(Status.PULSE, () -> model.window("S", -1, 2, 4));
      status(Status.SYMBOL, () -> model.window("Q", 4, 2, 4));
      refused(NullPointerException.class, () -> model.window(null, 4, 2, 4));
      model.window("S", 4, 2, 4);
      status(Status.STATE, () -> model.window("S", 4, 2, 4));
      status(Status.STATE, () -> model.pulse("S", 2));
    }
  }

  static void pushed(Session session, TensorInfo in, TensorInfo out, ByteBuffer input,
      ByteBuffer found, int round) {
    int frame = (int) in.frameBytes();
    int total = input.limit();
    int size = 1;
    while (input.position() < total) {
      int frames = Math.min(size, (total - input.position()) / frame);
      input.limit(input.position() + frames * frame);
      long taken = session.push(0, input);
      input.position(input.position() + (int) taken * frame);
      input.limit(total);
      drain(session, out, found);
      size = size % 37 + 1 + round;
    }
    session.finish();
    while (drain(session, out, found) > 0) {
    }
  }

  static long drain(Session session, TensorInfo out, ByteBuffer found) {
    long given = session.pull(0, found);
    found.position(found.position() + (int) (given * out.frameBytes()));
    return given;
  }

  static ByteBuffer row(Npz.Array array) {
    ByteBuffer data = array.data.duplicate().order(ByteOrder.nativeOrder());
    data.limit((int) (data.limit() / array.shape[0]));
    return data;
  }

  /** A bundle with the first row of a batch alone, as a folder of Java's own making. */
  static String onlyRow(String name, Map<String, Npz.Array> bundle) throws Exception {
    File file = new File(scratch, name + ".npz");
    try (java.util.zip.ZipOutputStream zip =
             new java.util.zip.ZipOutputStream(Files.newOutputStream(file.toPath()))) {
      for (Map.Entry<String, Npz.Array> entry : bundle.entrySet()) {
        Npz.Array array = entry.getValue();
        StringBuilder shape = new StringBuilder("1,");
        for (int i = 1; i < array.shape.length; ++i) shape.append(array.shape[i]).append(',');
        StringBuilder header = new StringBuilder("{'descr': '<" + array.type
            + "', 'fortran_order': False, 'shape': (" + shape + "), }");
        while ((10 + header.length() + 1) % 64 != 0) header.append(' ');
        header.append('\n');
        zip.putNextEntry(new java.util.zip.ZipEntry(entry.getKey() + ".npy"));
        zip.write(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0,
            (byte) header.length(), (byte) (header.length() >> 8)});
        zip.write(header.toString().getBytes("US-ASCII"));
        byte[] bytes = new byte[row(array).remaining()];
        row(array).get(bytes);
        zip.write(bytes);
        zip.closeEntry();
      }
    }
    return file.getPath();
  }

  static Session opened() {
    try (Model model = Model.load(archive("kws_gru")).set("B", 1).pulse("S", 8);
         Plan plan = model.prepare()) {
      return plan.open();
    }
  }

  static void stepsAllocateNothing() {
    com.sun.management.ThreadMXBean threads =
        (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    long self = Thread.currentThread().getId();
    try (Session stepped = opened(); Session pushedTo = opened()) {
      ByteBuffer in = ByteBuffer.allocateDirect(8 * 40 * 4).order(ByteOrder.nativeOrder());
      ByteBuffer out = ByteBuffer.allocateDirect(stepped.output(0).capacity() * 2);
      long before = 0;
      for (int round = 0; round < 2; ++round) {
        threads.getThreadAllocatedBytes(self);
        before = threads.getThreadAllocatedBytes(self);
        for (int i = 0; i < 2000; ++i) {
          stepped.step();
          stepped.validCount(0);
          stepped.input(0);
          pushedTo.push(0, in);
          pushedTo.pull(0, out);
        }
      }
      long bytes = threads.getThreadAllocatedBytes(self) - before;
      expect(bytes == 0, bytes + " bytes were allocated");
      Object made = new byte[64];
      expect(threads.getThreadAllocatedBytes(self) > before && made != null, "nothing is counted");
    }
  }

  static void closedHandles() {
    Model model = Model.load(archive("kws_gru"));
    Model copy = model.copy();
    model.close();
    model.close();
    refused(IllegalStateException.class, model::inputs);
    refused(IllegalStateException.class, model::prepare);
    refused(IllegalStateException.class, () -> model.set("B", 1));
    copy.set("B", 1).pulse("S", 8);
    Plan plan = copy.prepare();
    Session session = plan.open();
    plan.close();
    plan.close();
    refused(IllegalStateException.class, plan::open);
    refused(IllegalStateException.class, () -> plan.stream(0));
    session.step();
    ByteBuffer output = session.output(0);
    session.close();
    session.close();
    refused(IllegalStateException.class, session::step);
    refused(IllegalStateException.class, session::reset);
    refused(IllegalStateException.class, () -> session.push(0, output));
    refused(IllegalStateException.class, () -> session.bindInput(0, session.input(0)));
    refused(IllegalStateException.class, session::copy);
    // Java owns the buffer, which outlives the session.
    for (int i = 0; i < output.capacity(); ++i) output.put(i, (byte) i);
    copy.close();
  }

  static void wrongArguments() {
    status(Status.IO, () -> Model.load("/nowhere/model.nnef.tgz"));
    status(Status.PARSE, () -> Model.load(new byte[] {1, 2, 3}));
    status(Status.PARSE, () -> Model.load(new byte[0]));
    refused(NullPointerException.class, () -> Model.load((String) null));
    refused(NullPointerException.class, () -> Model.load((byte[]) null));
    refused(NullPointerException.class, () -> Model.load((ByteBuffer) null));
    refused(IllegalArgumentException.class, () -> Model.load(ByteBuffer.allocate(100)));
    refused(IllegalArgumentException.class, () -> Model.load("a\0b"));
    try (Model model = Model.load(archive("kws_gru"))) {
      status(Status.SYMBOL, () -> model.set("Q", 1));
      status(Status.SYMBOL, () -> model.prepare());
      status(Status.PULSE, () -> model.pulse("S", "many"));
      refused(NullPointerException.class, () -> model.set(null, "1"));
    }
    try (Session session = opened()) {
      refused(IndexOutOfBoundsException.class, () -> session.input(1));
      refused(IndexOutOfBoundsException.class, () -> session.output(-1));
      refused(IndexOutOfBoundsException.class, () -> session.push(7, session.input(0)));
      refused(IllegalArgumentException.class, () -> session.push(0, ByteBuffer.allocate(160)));
      refused(IllegalArgumentException.class, () -> session.push(0, ByteBuffer.allocateDirect(7)));
      refused(IllegalArgumentException.class,
          () -> session.bindInput(0, ByteBuffer.allocateDirect(12)));
      refused(ReadOnlyBufferException.class,
          () -> session.pull(0, session.output(0).asReadOnlyBuffer()));
      refused(NullPointerException.class, () -> session.push(0, null));
      refused(RillException.class, () -> session.validCount(9));
      ByteBuffer odd = ByteBuffer.allocateDirect(session.input(0).capacity() + 1);
      odd.position(1);
      status(Status.ARG, () -> session.bindInput(0, odd));
      status(Status.PARSE, () -> session.loadState(ByteBuffer.allocateDirect(64)));
      // A push of no frames is allowed, and failed calls left the stream unchanged.
      expect(session.push(0, ByteBuffer.allocateDirect(0)) == 0, "no frames");
      status(Status.STATE, session::step);
    }
  }

  static File compiled() throws Exception {
    File file = new File(scratch, "kws.rill");
    Process compile = new ProcessBuilder(program, archive("kws_gru"), "--set", "B=1", "--pulse",
        "S=8", "compile", "--no-audit", "-o", file.getPath()).redirectErrorStream(true)
        .redirectOutput(new File(scratch, "log")).start();
    expect(compile.waitFor() == 0, "rill compile");
    return file;
  }

  /** The bytes of a compiled model, beginning at `offset` beyond a multiple of 64. */
  static ByteBuffer bytesAt(byte[] bytes, int offset) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(bytes.length + 128);
    buffer.position((64 - buffer.alignmentOffset(0, 64)) % 64 + offset);
    int begin = buffer.position();
    buffer.put(bytes).flip();
    buffer.position(begin);
    return buffer;
  }

  static void compiledModelsOpenFromBuffers() throws Exception {
    byte[] bytes = Files.readAllBytes(compiled().toPath());
    for (int offset : new int[] {0, 1, 4, 16, 63}) {
      ByteBuffer buffer = bytesAt(bytes, offset);
      int position = buffer.position();
      Session session;
      try (Plan plan = Plan.open(buffer.asReadOnlyBuffer())) {
        session = plan.open();
      }
      expect(buffer.position() == position, "the position moved");
      runsAsTheModel(session, "a plan at " + offset);
    }
    try (RandomAccessFile file = new RandomAccessFile(compiled(), "r")) {
      Plan plan = Plan.open(file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, bytes.length));
      Session session = plan.open();
      plan.close();
      plan = null;
      // Only the session keeps the mapped buffer alive.
      for (int i = 0; i < 5; ++i) {
        System.gc();
        Thread.sleep(20);
      }
      try (Session copy = session.copy()) {
        runsAsTheModel(session, "a mapped buffer");
        expect(copy.output(0) != null, "a copy");
      }
    }
    ByteBuffer overwritten = bytesAt(bytes, 0);
    try (Plan plan = Plan.open(overwritten, new OpenOptions().readFile(true))) {
      for (int i = overwritten.position(); i < overwritten.limit(); ++i) overwritten.put(i, (byte) 0);
      runsAsTheModel(plan.open(), "a plan that was copied");
    }
    try (Model model = Model.load(archive("kws_gru"));
         Model pulsed = model.copy();
         Plan prepared = pulsed.set("B", 1).pulse("S", 8).prepare();
         Plan plan = Plan.open(compiled().getPath())) {
      expect(!model.properties().isEmpty(), "a model with properties");
      expect(plan.properties().equals(model.properties()), "properties " + plan.properties());
      expect(prepared.properties().equals(model.properties()), "of a prepared plan");
    }
    bufferRefusals(bytes);
  }

  static void bufferRefusals(byte[] bytes) {
    ByteBuffer whole = bytesAt(bytes, 0);
    status(Status.NOMEM, () -> Plan.open(whole, new OpenOptions().maxFileBytes(bytes.length - 1)));
    status(Status.NOMEM, () -> Plan.open(whole, new OpenOptions().maxStepWork(10)));
    status(Status.ARG, () -> Plan.open(whole, new OpenOptions().maxBuffers(-1)));
    refused(NullPointerException.class, () -> Plan.open((ByteBuffer) null));
    refused(NullPointerException.class, () -> Plan.open(whole, null));
    refused(IllegalArgumentException.class, () -> Plan.open(ByteBuffer.wrap(bytes)));
    for (int length : new int[] {1, 63, 64, 1000, bytes.length - 1}) {
      ByteBuffer cut = whole.duplicate();
      cut.limit(cut.position() + length);
      status(Status.PARSE, () -> Plan.open(cut));
    }
    ByteBuffer damaged = bytesAt(bytes, 1);
    damaged.put(damaged.position() + 200, (byte) (damaged.get(damaged.position() + 200) ^ 1));
    status(Status.PARSE, () -> Plan.open(damaged));
  }

  static void runsAsTheModel(Session session, String what) {
    try (Session a = session; Session expected = opened()) {
      for (int step = 0; step < 20; ++step) {
        for (Session each : new Session[] {a, expected}) {
          ByteBuffer input = each.input(0);
          for (int i = 0; i < input.capacity() / 4; ++i) input.putFloat(4 * i, (i + step) % 7 - 3);
          each.step();
        }
        equal(a.output(0), expected.output(0), what);
      }
    }
  }

  static void compiledModelsKeepTheirLimits() throws Exception {
    File file = compiled();
    String path = file.getPath();
    long bytes = file.length();
    OpenOptions enough = new OpenOptions().maxFileBytes(bytes).maxSessionBytes(1 << 30)
        .maxStepWork(1 << 30).maxOutputs(1).maxBuffers(1 << 20).readFile(true);
    try (Plan plan = Plan.open(path); Plan read = Plan.open(path, enough); Session a = plan.open();
         Session b = read.open(); Session c = opened()) {
      // With readFile, the file may be truncated while the plan is open.
      for (int round = 0; round < 20; ++round) {
        for (Session each : new Session[] {a, b, c}) {
          ByteBuffer input = each.input(0);
          for (int i = 0; i < input.capacity() / 4; ++i) input.putFloat(4 * i, (i + round) % 7 - 3);
          each.step();
        }
        equal(a.output(0), c.output(0), "a mapped plan");
        equal(b.output(0), c.output(0), "a plan that was read");
      }
    }
    status(Status.NOMEM, () -> Plan.open(path, new OpenOptions().maxFileBytes(bytes - 1)));
    status(Status.NOMEM, () -> Plan.open(path, new OpenOptions().maxSessionBytes(64)));
    status(Status.NOMEM, () -> Plan.open(path, new OpenOptions().maxStepWork(10)));
    RillException buffers = refused(RillException.class,
        () -> Plan.open(path, new OpenOptions().maxBuffers(1)));
    expect(buffers.status == Status.NOMEM, "a limit on buffers");
    expect(buffers.hint.contains("Raise OpenOptions.maxBuffers if"), buffers.hint);
    status(Status.NOMEM,
        () -> Plan.open(path, new OpenOptions().readFile(true).maxFileBytes(bytes - 1)));
    status(Status.ARG, () -> Plan.open(path, new OpenOptions().maxOutputs(-1)));
    status(Status.IO, () -> Plan.open("/nowhere/kws.rill"));
    status(Status.PARSE, () -> Plan.open(archive("kws_gru")));
    refused(NullPointerException.class, () -> Plan.open((String) null));
    refused(NullPointerException.class, () -> Plan.open(path, null));
    refused(IllegalArgumentException.class, () -> Plan.open("a\0b"));
  }

  static void statesMove() {
    try (Session a = opened(); Session b = opened()) {
      for (int i = 0; i < a.input(0).capacity() / 4; ++i) a.input(0).putFloat(4 * i, i % 7 - 3);
      for (int i = 0; i < 5; ++i) a.step();
      ByteBuffer state = ByteBuffer.allocateDirect((int) a.stateSize());
      long bytes = a.saveState(state);
      expect(bytes > 0 && bytes <= state.capacity(), "size of the state");
      state.limit((int) bytes);
      b.loadState(state);
      try (Session c = a.copy()) {
        b.input(0).put(a.input(0).duplicate());
        equal(c.input(0), a.input(0), "inputs of a copy");
        a.step();
        b.step();
        c.step();
        equal(b.output(0), a.output(0), "loaded");
        equal(c.output(0), a.output(0), "copied");
      }
    }
  }

  static void oneThreadAtATime() throws Exception {
    try (Session session = opened()) {
      CountDownLatch begun = new CountDownLatch(1);
      AtomicReference<Throwable> other = new AtomicReference<Throwable>();
      Thread thread = new Thread(() -> {
        begun.countDown();
        for (int i = 0; i < 20000; ++i) {
          try {
            session.step();
          } catch (IllegalStateException expected) {
            // The other thread was first.
          } catch (Throwable failure) {
            other.set(failure);
          }
        }
      });
      thread.start();
      begun.await();
      while (thread.isAlive()) {
        try {
          session.step();
        } catch (IllegalStateException expected) {
          // As above.
        }
      }
      thread.join();
      expect(other.get() == null, "" + other.get());
    }
  }

  static void abandonedHandlesAreFreed() throws Exception {
    long before = resident();
    for (int i = 0; i < 300; ++i) {
      opened();
      Model.load(archive("kws_gru"));
      if (i % 20 == 19) {
        System.gc();
        Thread.sleep(50);
      }
    }
    // 300 models of half a megabyte would be left otherwise.
    long grown = resident() - before;
    expect(grown < 100 << 20, grown + " bytes were left");
  }

  static long resident() throws Exception {
    String[] pages = new String(Files.readAllBytes(new File("/proc/self/statm").toPath())).split(" ");
    return Long.parseLong(pages[1]) * 4096;
  }

  static void otherWaysToLoad() throws Exception {
    byte[] bytes = Files.readAllBytes(new File(archive("kws_gru")).toPath());
    try (Model model = Model.load(bytes)) {
      expect(model.symbols().size() == 2, "symbols " + model.symbols());
      expect(model.inputs().get(0).dtype == DType.F32, "type");
      String path = new File(scratch, "g\u00e9schrieben \u4f60.nnef.tgz").getPath();
      new File(path).delete();
      model.save(path);
      try (Model again = Model.load(path)) {
        expect(again.inputs().toString().equals(model.inputs().toString()), "written");
        expect(again.properties().equals(model.properties()) || !model.properties().isEmpty(),
            "properties");
      }
    }
    try (RandomAccessFile file = new RandomAccessFile(archive("kws_gru"), "r");
         Model model = Model.load(
             file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, file.length()))) {
      expect(model.outputs().get(0).name.equals("keywords"), "output");
      RillException failure = refused(RillException.class, () -> model.set("nothing", 3));
      expect(failure.getMessage().contains("nothing"), failure.getMessage());
    }
    expect(!Model.version().isEmpty() && !Model.buildInfo().isEmpty(), "version");
  }

  public static void main(String[] arguments) throws Exception {
    program = arguments[0];
    models = arguments[1];
    scratch = new File(arguments[2]);
    Files.createDirectories(scratch.toPath());
    for (String name : new String[] {"kws_gru", "tcn_dilated", "unet_denoiser", "conv_tasnet"}) {
      test("whole run of " + name, () -> wholeRuns(name));
    }
    for (int pulse : new int[] {2, 8, 50}) {
      test("stream of kws_gru by " + pulse, () -> streams("kws_gru", pulse));
    }
    test("windows", () -> windows(5, 2, 3));
    test("windows without context", () -> windows(0, 4, 0));
    test("wrong windows", RillTest::wrongWindows);
    test("steps allocate nothing", RillTest::stepsAllocateNothing);
    test("closed handles", RillTest::closedHandles);
    test("wrong arguments", RillTest::wrongArguments);
    test("states move", RillTest::statesMove);
    test("compiled models keep their limits", RillTest::compiledModelsKeepTheirLimits);
    test("compiled models open from buffers", RillTest::compiledModelsOpenFromBuffers);
    test("one thread at a time", RillTest::oneThreadAtATime);
    test("abandoned handles are freed", RillTest::abandonedHandlesAreFreed);
    test("effects", () -> AudioTest.effects(false));
    test("effects with a worker", () -> AudioTest.effects(true));
    test("sound with a reference", AudioTest::references);
    test("late pulses of a worker", AudioTest::latePulses);
    test("states of effects move", AudioTest::states);
    test("listeners", AudioTest::listeners);
    test("refusals of effects and listeners", AudioTest::refusals);
    test("other ways to load", RillTest::otherWaysToLoad);
    System.out.println(failed + " failed");
    System.exit(failed == 0 ? 0 : 1);
  }
}
