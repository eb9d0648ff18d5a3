package rill;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A native object and the number of calls that use it. It is freed once: by close, or after the
 * garbage collector has found its Java owner unreachable. {@code java.lang.ref.Cleaner} would do the
 * latter, but Android only has it since API 33.
 */
final class Handle extends PhantomReference<Object> {
  /** Frees a native object. */
  interface Free {
    void free(long address);
  }

  private static final int CLOSED = -1;
  private static final ReferenceQueue<Object> LEFT = new ReferenceQueue<Object>();
  // Keeps handles and their references alive until they are freed.
  private static final Set<Handle> ALL =
      Collections.newSetFromMap(new ConcurrentHashMap<Handle, Boolean>());

  static {
    Thread thread = new Thread(new Runnable() {
      @Override
      public void run() {
        reap();
      }
    }, "rill-cleaner");
    thread.setDaemon(true);
    thread.start();
  }

  /** The memory that the native object writes to. */
  Object held;

  private final long address;
  private final Free free;
  private final boolean shared;
  private final String what;
  private final AtomicInteger users = new AtomicInteger();

  /** @param shared whether several threads may use it at a time */
  Handle(Object owner, String what, long address, boolean shared, Free free) {
    super(owner, LEFT);
    this.what = what;
    this.address = address;
    this.shared = shared;
    this.free = free;
    ALL.add(this);
  }

  /** Return the native object for a call; {@link #leave} must follow. */
  long enter() {
    for (;;) {
      int now = users.get();
      if (now == CLOSED) throw new IllegalStateException("this " + what + " is closed");
      if (now > 0 && !shared) {
        throw new IllegalStateException("this " + what + " is in use by another call");
      }
      if (users.compareAndSet(now, now + 1)) return address;
    }
  }

  void leave() {
    users.decrementAndGet();
  }

  /** Free the native object. A second call does nothing. */
  void close() {
    if (!tryClose() && users.get() != CLOSED) {
      throw new IllegalStateException("this " + what + " is in use by another call");
    }
  }

  private boolean tryClose() {
    if (!users.compareAndSet(0, CLOSED)) return false;
    ALL.remove(this);
    clear();
    free.free(address);
    held = null;
    return true;
  }

  private static void reap() {
    for (;;) {
      try {
        Handle handle = (Handle) LEFT.remove();
        // A call may still run after the garbage collector has found its owner unreachable.
        while (!handle.tryClose() && handle.users.get() != CLOSED) Thread.sleep(10);
      } catch (InterruptedException interrupted) {
        return;
      }
    }
  }
}
