import java.io.File;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.tsfile.common.conf.TSFileDescriptor;
import org.apache.tsfile.enums.ColumnCategory;
import org.apache.tsfile.enums.TSDataType;
import org.apache.tsfile.file.metadata.TableSchema;
import org.apache.tsfile.file.metadata.TimeseriesMetadata;
import org.apache.tsfile.file.metadata.enums.CompressionType;
import org.apache.tsfile.file.metadata.enums.TSEncoding;
import org.apache.tsfile.file.metadata.statistics.Statistics;
import org.apache.tsfile.read.TsFileSequenceReader;
import org.apache.tsfile.read.query.dataset.ResultSet;
import org.apache.tsfile.read.v4.ITsFileReader;
import org.apache.tsfile.read.v4.TsFileReaderBuilder;
import org.apache.tsfile.utils.Binary;
import org.apache.tsfile.utils.BitMap;
import org.apache.tsfile.write.record.Tablet;
import org.apache.tsfile.write.schema.IMeasurementSchema;
import org.apache.tsfile.write.schema.MeasurementSchema;
import org.apache.tsfile.write.v4.ITsFileWriter;
import org.apache.tsfile.write.v4.TsFileWriterBuilder;

/** The TsFile jobs, run by the Java library. "JOB FOLDER" prints {"seconds": […], "answer": …}. */
public class TsFileBench {
  static final long START = 1_700_000_000_000L;
  static final long STEP = 1000;
  static final int TABLET = 10_000;
  static final boolean TINY = System.getenv("COMPARE_TINY") != null;

  final String name;
  final Path folder;
  final List<IMeasurementSchema> schemas = new ArrayList<>();
  final List<ColumnCategory> categories = new ArrayList<>();
  int devices = 1;
  int rows = TINY ? 100_000 : 10_000_000;

  TsFileBench(String name, Path folder) {
    this.name = name;
    this.folder = folder;
    CompressionType compression = CompressionType.UNCOMPRESSED;
    if (name.equals("mix")) {
      devices = TINY ? 4 : 100;
      rows = 10_000;
      compression = CompressionType.SNAPPY;
    }
    schemas.add(new MeasurementSchema("device", TSDataType.STRING, TSEncoding.PLAIN, compression));
    categories.add(ColumnCategory.TAG);
    if (name.equals("mix")) {
      add("alarm", TSDataType.BOOLEAN, TSEncoding.PLAIN, compression);
      add("state", TSDataType.STRING, TSEncoding.PLAIN, compression);
      add("rpm", TSDataType.INT32, TSEncoding.TS_2DIFF, compression);
      add("pressure", TSDataType.INT32, TSEncoding.TS_2DIFF, compression);
      add("energy", TSDataType.INT64, TSEncoding.TS_2DIFF, compression);
      add("counter", TSDataType.INT64, TSEncoding.TS_2DIFF, compression);
      add("temperature", TSDataType.FLOAT, TSEncoding.GORILLA, compression);
      add("humidity", TSDataType.FLOAT, TSEncoding.GORILLA, compression);
      add("voltage", TSDataType.DOUBLE, TSEncoding.GORILLA, compression);
      add("current", TSDataType.DOUBLE, TSEncoding.GORILLA, compression);
    } else if (name.equals("gorilla")) {
      add("value", TSDataType.DOUBLE, TSEncoding.GORILLA, compression);
    } else {
      add("value", TSDataType.INT64, TSEncoding.TS_2DIFF, compression);
    }
    TSFileDescriptor.getInstance().getConfig().setMaxNumberOfPointsInPage(10_000);
    TSFileDescriptor.getInstance().getConfig().setPageSizeInByte(1 << 20);
    TSFileDescriptor.getInstance().getConfig().setCompressor(compression.name());
  }

  void add(String column, TSDataType type, TSEncoding encoding, CompressionType compression) {
    schemas.add(new MeasurementSchema(column, type, encoding, compression));
    categories.add(ColumnCategory.FIELD);
  }

  /** All rows as tablets, made before the clock starts. */
  List<Tablet> base() throws Exception {
    Binary[] words = Arrays.stream(Files.readString(folder.resolve("words.txt")).split("\n"))
        .map(word -> new Binary(word, StandardCharsets.UTF_8)).toArray(Binary[]::new);
    List<ByteBuffer> raw = new ArrayList<>();
    for (IMeasurementSchema schema : schemas.subList(1, schemas.size())) {
      byte[] bytes = Files.readAllBytes(folder.resolve(name + "-" + schema.getMeasurementName() + ".raw"));
      raw.add(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN));
    }
    List<Tablet> tablets = new ArrayList<>();
    for (int device = 0; device < devices; device++) {
      for (int from = 0; from < rows; from += TABLET) {
        long[] times = new long[TABLET];
        for (int i = 0; i < TABLET; i++) {
          times[i] = START + STEP * (from + i);
        }
        Object[] values = new Object[schemas.size()];
        Binary[] tags = new Binary[TABLET];
        Arrays.fill(tags, new Binary(String.format("d%03d", device), StandardCharsets.UTF_8));
        values[0] = tags;
        for (int c = 1; c < values.length; c++) {
          values[c] = column(schemas.get(c).getType(), raw.get(c - 1), words);
        }
        tablets.add(new Tablet("plant", schemas, categories, times, values, new BitMap[values.length], TABLET));
      }
    }
    return tablets;
  }

  static Object column(TSDataType type, ByteBuffer raw, Binary[] words) {
    switch (type) {
      case BOOLEAN:
        boolean[] flags = new boolean[TABLET];
        for (int i = 0; i < TABLET; i++) {
          flags[i] = raw.get() != 0;
        }
        return flags;
      case STRING:
        Binary[] strings = new Binary[TABLET];
        for (int i = 0; i < TABLET; i++) {
          strings[i] = words[raw.get()];
        }
        return strings;
      case INT32:
        int[] ints = new int[TABLET];
        for (int i = 0; i < TABLET; i++) {
          ints[i] = raw.getInt();
        }
        return ints;
      case INT64:
        long[] longs = new long[TABLET];
        for (int i = 0; i < TABLET; i++) {
          longs[i] = raw.getLong();
        }
        return longs;
      case FLOAT:
        float[] floats = new float[TABLET];
        for (int i = 0; i < TABLET; i++) {
          floats[i] = raw.getFloat();
        }
        return floats;
      default:
        double[] doubles = new double[TABLET];
        for (int i = 0; i < TABLET; i++) {
          doubles[i] = raw.getDouble();
        }
        return doubles;
    }
  }

  void write(File target, List<Tablet> tablets) throws Exception {
    TableSchema schema = new TableSchema("plant", new ArrayList<>(schemas), new ArrayList<>(categories));
    try (ITsFileWriter writer = new TsFileWriterBuilder().file(target).tableSchema(schema).build()) {
      for (Tablet tablet : tablets) {
        writer.write(tablet);
      }
    }
    try (RandomAccessFile file = new RandomAccessFile(target, "rw")) {
      file.getFD().sync();
    }
  }

  /** The library has no Arrow face: rows are visited one by one, and every value is looked at. */
  double read(File source, long from, long to) throws Exception {
    List<String> names = new ArrayList<>();
    schemas.forEach(schema -> names.add(schema.getMeasurementName()));
    double total = 0;
    try (ITsFileReader reader = new TsFileReaderBuilder().file(source).build();
        ResultSet result = reader.query("plant", names, from, to)) {
      while (result.next()) {
        total += 1;
        for (int c = 1; c < schemas.size(); c++) {
          switch (schemas.get(c).getType()) {
            case BOOLEAN:
              total += result.getBoolean(c + 2) ? 1 : 0;
              break;
            case STRING:
              total += result.getString(c + 2).length();
              break;
            case INT32:
              total += result.getInt(c + 2);
              break;
            case INT64:
              total += result.getLong(c + 2);
              break;
            case FLOAT:
              total += result.getFloat(c + 2);
              break;
            default:
              total += result.getDouble(c + 2);
          }
        }
      }
    }
    return total;
  }

  /** Count, min and max of each column over all devices. */
  double statistics(File source) throws Exception {
    double counts = 0;
    Map<String, double[]> bounds = new HashMap<>();
    try (TsFileSequenceReader reader = new TsFileSequenceReader(source.getPath())) {
      for (List<TimeseriesMetadata> group : reader.getAllTimeseriesMetadata(false).values()) {
        for (TimeseriesMetadata series : group) {
          if (series.getTsDataType() == TSDataType.VECTOR) {
            continue;
          }
          Statistics<?> statistics = series.getStatistics();
          counts += statistics.getCount();
          if (series.getTsDataType().isNumeric()) {
            double low = ((Number) statistics.getMinValue()).doubleValue();
            double high = ((Number) statistics.getMaxValue()).doubleValue();
            double[] known = bounds.computeIfAbsent(series.getMeasurementId(), key -> new double[] {low, high});
            known[0] = Math.min(known[0], low);
            known[1] = Math.max(known[1], high);
          }
        }
      }
    }
    for (double[] pair : bounds.values()) {
      counts += pair[0] + pair[1];
    }
    return counts;
  }

  interface Work {
    double run() throws Exception;
  }

  /** One run more than counts, for the compiler to warm up. */
  static void report(int runs, File fresh, Work work) throws Exception {
    List<String> seconds = new ArrayList<>();
    double answer = 0;
    for (int i = 0; i <= runs; i++) {
      if (fresh != null) {
        Files.deleteIfExists(fresh.toPath());
      }
      long start = System.nanoTime();
      answer = work.run();
      if (i > 0) {
        seconds.add(String.valueOf((System.nanoTime() - start) / 1e9));
      }
    }
    System.out.println("{\"seconds\": [" + String.join(", ", seconds) + "], \"answer\": " + answer + "}");
  }

  public static void main(String[] args) throws Exception {
    String verb = args[0].split("-")[0];
    Path folder = Path.of(args[1]);
    TsFileBench bench = new TsFileBench(args[0].split("-")[1], folder);
    File source = folder.resolve("pypi-" + bench.name + ".tsfile").toFile();
    long middle = START + STEP * (bench.rows / 2);
    switch (verb) {
      case "write":
        List<Tablet> tablets = bench.base();
        File target = folder.resolve("java-" + bench.name + ".tsfile").toFile();
        report(2, target, () -> {
          bench.write(target, tablets);
          return 0;
        });
        break;
      case "read":
        report(2, null, () -> bench.read(source, Long.MIN_VALUE, Long.MAX_VALUE));
        break;
      case "query":
        report(3, null, () -> bench.read(source, middle, middle + STEP * (bench.rows / 100) - STEP));
        break;
      case "stats":
        report(5, null, () -> bench.statistics(source));
        break;
      default:
        throw new IllegalArgumentException(args[0]);
    }
  }
}
