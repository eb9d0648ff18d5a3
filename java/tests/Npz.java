import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** Arrays of a file of NumPy, as direct buffers. */
final class Npz {
  static final class Array {
    String type;
    long[] shape;
    ByteBuffer data;
  }

  static Map<String, Array> read(String path) throws IOException {
    Map<String, Array> arrays = new LinkedHashMap<String, Array>();
    try (ZipFile zip = new ZipFile(path)) {
      Enumeration<? extends ZipEntry> entries = zip.entries();
      while (entries.hasMoreElements()) {
        ZipEntry entry = entries.nextElement();
        byte[] bytes = new byte[(int) entry.getSize()];
        try (DataInputStream in = new DataInputStream(zip.getInputStream(entry))) {
          in.readFully(bytes);
        }
        arrays.put(entry.getName().replace(".npy", ""), parse(bytes));
      }
    }
    return arrays;
  }

  private static Array parse(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int begin = bytes[6] == 1 ? 10 : 12;
    int size = bytes[6] == 1 ? in.getShort(8) & 0xFFFF : in.getInt(8);
    String header = new String(bytes, begin, size, StandardCharsets.US_ASCII);
    Array array = new Array();
    array.type = header.replaceFirst("(?s).*'descr': *'[<|]?([^']*)'.*", "$1");
    String dims = header.replaceFirst("(?s).*'shape': *\\(([^)]*)\\).*", "$1").replace(" ", "");
    String[] parts = dims.isEmpty() ? new String[0] : dims.split(",");
    array.shape = new long[parts.length];
    for (int i = 0; i < parts.length; ++i) array.shape[i] = Long.parseLong(parts[i]);
    int left = bytes.length - begin - size;
    array.data = ByteBuffer.allocateDirect(left).order(ByteOrder.nativeOrder());
    array.data.put(bytes, begin + size, left);
    array.data.rewind();
    return array;
  }
}
