package rill;

import java.nio.ByteBuffer;

/** The calls of rill.h. Texts are UTF-8; failures throw {@link RillException}. */
final class Native {
  static {
    String path = System.getProperty("rill.library");
    if (path != null) {
      System.load(path);
    } else {
      System.loadLibrary("rill_jni");
    }
  }

  private Native() {}

  static native byte[] version();
  static native byte[] buildInfo();

  static native long load(byte[] path, byte[] constants);
  static native long loadMemory(byte[] bytes, byte[] constants);
  static native long loadDirect(ByteBuffer bytes, int position, int size, byte[] constants);
  static native void save(long model, byte[] path);
  static native long cloneModel(long model);
  static native void freeModel(long model);
  static native int countOfModel(long model, int dir);
  static native Object[] ioOfModel(long model, int dir, int index);
  static native byte[] symbol(long model, int index);
  static native void setSymbol(long model, byte[] symbol, byte[] expression);
  static native void pulse(long model, byte[] symbol, byte[] pulse);
  static native void window(long model, byte[] symbol, long left, long step, long right);
  static native void feedback(long model, byte[] output, byte[] input);
  static native void context(long model, byte[] input, long frames);
  static native int properties(long model);
  static native byte[][] property(long model, int index);
  static native long prepare(long model, boolean plain, long maxSessionBytes);

  static native long openPlan(byte[] path, long[] options);
  static native long openDirect(ByteBuffer bytes, int position, int size, long[] options);
  static native int offsetIn64(ByteBuffer bytes, int position);
  static native int propertiesOfPlan(long plan);
  static native byte[][] propertyOfPlan(long plan, int index);
  static native void freePlan(long plan);
  static native int countOfPlan(long plan, int dir);
  static native Object[] ioOfPlan(long plan, int dir, int index);
  static native long[] streamOfPlan(long plan, int output);

  static native long open(long plan, long maxPush);
  static native long cloneSession(long session);
  static native void freeSession(long session);
  static native void bind(long session, int dir, int index, ByteBuffer data, int position,
      int size);
  static native void copyOut(long from, int dir, int index, ByteBuffer data);
  static native void reset(long session);
  static native void step(long session);
  static native void stepPartial(long session, long frames);
  static native long flush(long session);
  static native long validFirst(long session, int output);
  static native long validCount(long session, int output);
  static native long push(long session, int input, ByteBuffer frames, int position, int size);
  static native long pull(long session, int output, ByteBuffer frames, int position, int size);
  static native void finish(long session);
  static native long stateSize(long session);
  static native long saveState(long session, ByteBuffer bytes, int position, int size);
  static native void loadState(long session, ByteBuffer bytes, int position, int size);

  static native long newEffect(long plan, long[] options);
  static native void freeEffect(long effect);
  static native long latencyOfEffect(long effect);
  static native boolean processEffect(long effect, ByteBuffer in, int inPosition,
      ByteBuffer reference, int referencePosition, ByteBuffer out, int outPosition, int format,
      int channels, int referenceChannels, int frames);
  static native long work(long effect);
  static native long late(long effect);
  static native void setEffect(long effect, int what, boolean on);
  static native long stateSizeOfEffect(long effect);
  static native long saveEffect(long effect, ByteBuffer bytes, int size);
  static native void loadEffect(long effect, ByteBuffer bytes, int size);
  static native long newListener(long plan, long[] options);
  static native void freeListener(long listener);
  static native long latencyOfListener(long listener, int output);
  static native long heard(long listener, ByteBuffer sound, int position, ByteBuffer reference,
      int referencePosition, int format, int channels, int referenceChannels, int count, int output,
      int axis, ByteBuffer frames, int framesPosition, int size);
  static native void resetListener(long listener);
}
