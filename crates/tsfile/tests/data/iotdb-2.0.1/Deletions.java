import java.io.File;
import java.io.FileWriter;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.iotdb.commons.path.MeasurementPath;
import org.apache.iotdb.db.queryengine.execution.fragment.QueryContext;
import org.apache.iotdb.db.storageengine.dataregion.modification.DeletionPredicate;
import org.apache.iotdb.db.storageengine.dataregion.modification.IDPredicate;
import org.apache.iotdb.db.storageengine.dataregion.modification.ModEntry;
import org.apache.iotdb.db.storageengine.dataregion.modification.ModificationFile;
import org.apache.iotdb.db.storageengine.dataregion.modification.TableDeletionEntry;
import org.apache.iotdb.db.storageengine.dataregion.modification.TreeDeletionEntry;
import org.apache.iotdb.db.storageengine.dataregion.tsfile.TsFileResource;
import org.apache.tsfile.enums.TSDataType;
import org.apache.tsfile.file.metadata.ColumnSchema;
import org.apache.tsfile.file.metadata.IDeviceID;
import org.apache.tsfile.file.metadata.StringArrayDeviceID;
import org.apache.tsfile.file.metadata.TableSchema;
import org.apache.tsfile.read.common.TimeRange;
import org.apache.tsfile.write.TsFileWriter;
import org.apache.tsfile.write.record.Tablet;
import org.apache.tsfile.write.schema.IMeasurementSchema;
import org.apache.tsfile.write.schema.MeasurementSchema;

/**
 * "OUT RANDOM SEED" writes tree.tsfile and table.tsfile, and expected.json: files of deletions for them, and which times
 * of each series (and in tables which rows) remain, as the database finds it out before it reads a file. RANDOM cases are
 * drawn for each of the two files. "torn" is about a file of deletions that is cut after each of its bytes.
 */
public class Deletions {
  static final long MIN = Long.MIN_VALUE;
  static final long MAX = Long.MAX_VALUE;
  static final int ROWS = 40;

  /** A device with its measurements; in row t measurement m has a value unless (t + m) % 7 == 6 in an aligned device. */
  static class Device {
    final IDeviceID id;
    final String path;
    final boolean aligned;
    final String[] measurements;

    Device(IDeviceID id, String path, boolean aligned, String... measurements) {
      this.id = id;
      this.path = path;
      this.aligned = aligned;
      this.measurements = measurements;
    }

    boolean has(int time, int measurement) {
      return !aligned || (time + measurement) % 7 != 6;
    }
  }

  static final List<Device> TREE = new ArrayList<>();
  static final List<Device> TABLES = new ArrayList<>();
  static PrintWriter json;
  static boolean first = true;

  static void tree(String path, boolean aligned, String... measurements) {
    TREE.add(new Device(new StringArrayDeviceID(path), path, aligned, measurements));
  }

  static void table(String... segments) {
    TABLES.add(new Device(new StringArrayDeviceID(segments), null, true, "f1", "f2", "f3"));
  }

  public static void main(String[] args) throws Exception {
    File out = new File(args[0]);
    tree("root.sg.d1", false, "s1", "s2", "temperature");
    tree("root.sg.d2", true, "s1", "s2", "s3");
    tree("root.sg.g1.d1", false, "s1");
    tree("root.sg.g1.d1.e.f", true, "s1", "s2");
    tree("root.other.d1", false, "s1");
    tree("root.sg.`a.b`", false, "`s 1`", "s1");
    table("weather", "north", "a");
    table("weather", "north", "b");
    table("weather", null, "b");
    table("weather", "south");
    table("weather");
    table("other", "north", "a");
    table("other", "north.a", "null");
    File tree = new File(out, "tree.tsfile");
    File tables = new File(out, "table.tsfile");
    writeTree(tree);
    writeTables(tables);
    json = new PrintWriter(new FileWriter(new File(out, "expected.json")));
    json.print("{");
    named(out, tree, tables);
    Random random = new Random(Long.parseLong(args[2]));
    for (int i = 0; i < Integer.parseInt(args[1]); i++) {
      run(out, tree, TREE, "random-tree-" + i, some(random, () -> randomTree(random)));
      run(out, tables, TABLES, "random-table-" + i, some(random, () -> randomTable(random)));
    }
    torn(out, tree);
    json.println("\n}");
    json.close();
    System.exit(0);
  }

  static void named(File out, File tree, File tables) throws Exception {
    run(out, tree, TREE, "tree-none");
    run(out, tree, TREE, "tree-exact", path("root.sg.d1.s1", 3, 17), path("root.sg.d2.s2", MIN, 8));
    run(out, tree, TREE, "tree-ends", path("root.sg.d1.s1", 20, MAX), path("root.sg.d1.s2", MIN, MAX),
        path("root.sg.d2.s1", 5, 5));
    run(out, tree, TREE, "tree-device", path("root.sg.d1.*", 10, 20), path("root.sg.d2.*", 4, 30));
    run(out, tree, TREE, "tree-many", path("root.sg.d2.s1", 0, 9), path("root.sg.d2.s2", 0, 9),
        path("root.sg.d2.s3", 0, 9), path("root.sg.d2.s1", 10, 20));
    run(out, tree, TREE, "tree-below", path("root.sg.**", 11, 33));
    run(out, tree, TREE, "tree-inner", path("root.**.s1", 2, 6), path("root.sg.**.d1.s1", 20, 22),
        path("root.sg.g1.**.s1", 30, 35), path("root.sg.g1.d1.**", 36, 36));
    run(out, tree, TREE, "tree-stars", path("root.*.d1.s1", 2, 6), path("root.sg.*.s2", 7, 9),
        path("root.*.*.*", 12, 13), path("root.sg.g1.d1.**.**", 15, 16));
    run(out, tree, TREE, "tree-parts", path("root.sg.d*.s*", 1, 3), path("root.s*.*1.*e*", 5, 6), path("root.sg.d1.s", 0, 9));
    run(out, tree, TREE, "tree-quoted", path("root.sg.`a.b`.`s 1`", 4, 9), path("root.sg.`a.b`.*", 20, 21));
    run(out, tree, TREE, "tree-nothing", path("root.sg.d1", 0, 50), path("root.sg.d9.s1", 0, 50),
        path("root.sg.d1.s1.**", 0, 50), table("root.sg", new IDPredicate.NOP(), 0, 50));
    run(out, tables, TABLES, "table-none");
    run(out, tables, TABLES, "table-all", table("weather", new IDPredicate.NOP(), 3, 12));
    run(out, tables, TABLES, "table-columns", table("weather", new IDPredicate.NOP(), 3, 12, "f1"),
        table("weather", new IDPredicate.NOP(), 20, 22, "f1", "f2", "f3"),
        table("weather", new IDPredicate.NOP(), 30, MAX, "f2", "missing"));
    run(out, tables, TABLES, "table-full", table("weather", full("weather", "north", "a"), MIN, 12),
        table("weather", full("weather", null, "b"), 2, 9, "f2"), table("weather", full("weather"), 20, MAX));
    run(out, tables, TABLES, "table-segment", table("weather", new IDPredicate.SegmentExactMatch("north", 1), 1, 5),
        table("weather", new IDPredicate.SegmentExactMatch("b", 2), 7, 9),
        table("weather", new IDPredicate.SegmentExactMatch(null, 1), 15, 20),
        table("weather", new IDPredicate.SegmentExactMatch(null, 2), 30, 31, "f1"),
        table("other", new IDPredicate.SegmentExactMatch("null", 2), 3, 4),
        table("other", new IDPredicate.SegmentExactMatch(null, 9), 8, 9));
    run(out, tables, TABLES, "table-and",
        table("weather", new IDPredicate.And(new IDPredicate.SegmentExactMatch("north", 1), new IDPredicate.SegmentExactMatch("b", 2)), 1, 30),
        table("weather", new IDPredicate.And(new IDPredicate.SegmentExactMatch(null, 1), new IDPredicate.And(new IDPredicate.NOP())), 33, 34),
        table("other", new IDPredicate.And(), 35, 36));
    run(out, tables, TABLES, "table-whole", table("weather", new IDPredicate.NOP(), MIN, MAX));
    run(out, tables, TABLES, "table-nothing", table("north", new IDPredicate.NOP(), MIN, MAX),
        table("weather", full("other", "north", "a"), MIN, MAX), path("root.**", MIN, MAX));
  }

  static ModEntry path(String path, long start, long end) {
    try {
      return new TreeDeletionEntry(new MeasurementPath(path), start, end);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  static IDPredicate full(String... segments) {
    return new IDPredicate.FullExactMatch(new StringArrayDeviceID(segments));
  }

  static ModEntry table(String name, IDPredicate predicate, long start, long end, String... columns) {
    return new TableDeletionEntry(new DeletionPredicate(name, predicate, Arrays.asList(columns)), new TimeRange(start, end));
  }

  interface Draw {
    ModEntry draw();
  }

  static ModEntry[] some(Random random, Draw draw) {
    ModEntry[] entries = new ModEntry[1 + random.nextInt(4)];
    for (int i = 0; i < entries.length; i++) {
      entries[i] = draw.draw();
    }
    return entries;
  }

  static long[] range(Random random) {
    long a = random.nextInt(50) - 5;
    long b = random.nextInt(50) - 5;
    return new long[] {
      random.nextInt(5) == 0 ? MIN : Math.min(a, b), random.nextInt(5) == 0 ? MAX : Math.max(a, b)
    };
  }

  static ModEntry randomTree(Random random) {
    Device device = TREE.get(random.nextInt(TREE.size()));
    String[] nodes = new MeasurementPathNodes(device, random).nodes;
    StringBuilder path = new StringBuilder("root");
    for (int i = 1; i < nodes.length; i++) {
      String node = nodes[i];
      switch (random.nextInt(8)) {
        case 0:
          node = "*";
          break;
        case 1:
          node = "**";
          break;
        case 2:
          node = node.startsWith("`") ? "*" : node.substring(0, 1) + "*";
          break;
        case 3:
          if (i + 1 < nodes.length && random.nextBoolean()) {
            continue;
          }
          break;
        default:
      }
      path.append('.').append(node);
    }
    long[] range = range(random);
    return path(path.toString(), range[0], range[1]);
  }

  static class MeasurementPathNodes {
    final String[] nodes;

    MeasurementPathNodes(Device device, Random random) {
      try {
        String measurement = device.measurements[random.nextInt(device.measurements.length)];
        nodes = new MeasurementPath(device.path + "." + measurement).getNodes();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  static IDPredicate randomPredicate(Random random, IDeviceID id, int depth) {
    int segment = 1 + random.nextInt(3);
    switch (random.nextInt(depth > 2 ? 3 : 4)) {
      case 0:
        return new IDPredicate.NOP();
      case 1:
        return new IDPredicate.FullExactMatch(id);
      case 2:
        return new IDPredicate.SegmentExactMatch((String) id.segment(segment), segment);
      default:
        IDPredicate.And and = new IDPredicate.And();
        for (int i = random.nextInt(3); i >= 0; i--) {
          and.add(randomPredicate(random, id, depth + 1));
        }
        return and;
    }
  }

  static ModEntry randomTable(Random random) {
    IDeviceID id = TABLES.get(random.nextInt(TABLES.size())).id;
    String[] columns = new String[random.nextInt(4)];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = "f" + (1 + random.nextInt(4));
    }
    long[] range = range(random);
    return table(id.getTableName(), randomPredicate(random, id, 0), range[0], range[1], columns);
  }

  /** Writes the entries, and what remains. */
  static void run(File out, File file, List<Device> devices, String name, ModEntry... entries) throws Exception {
    File beside = ModificationFile.getExclusiveMods(file);
    Files.deleteIfExists(beside.toPath());
    try (ModificationFile mods = new ModificationFile(beside, false)) {
      for (ModEntry entry : entries) {
        mods.write(entry);
      }
    }
    QueryContext context = new QueryContext();
    TsFileResource resource = new TsFileResource(file);
    boolean tables = devices == TABLES;
    json.print((first ? "\n" : ",\n") + "\"" + name + "\": {\"file\": \"" + file.getName() + "\", \"deletions\": " + entries.length + ", \"mods2\": " + hex(beside) + ",\n\"devices\": [");
    first = false;
    String comma = "";
    for (Device device : devices) {
      json.print(comma + "\n {\"segments\": " + strings(device.id.getSegments()));
      comma = ",";
      if (tables) {
        json.print(", \"rows\": " + times(device, -1, context.getPathModifications(resource, device.id, "")));
      }
      json.print(", \"series\": {");
      List<ModEntry> whole = tables ? context.getPathModifications(resource, device.id, "") : new ArrayList<>();
      for (int m = 0; m < device.measurements.length; m++) {
        List<ModEntry> mods = new ArrayList<>(context.getPathModifications(resource, device.id, device.measurements[m]));
        mods.addAll(whole);
        json.print((m == 0 ? "" : ", ") + "\"" + device.measurements[m] + "\": " + times(device, m, mods));
      }
      json.print("}}");
    }
    json.print("]}");
    Files.deleteIfExists(beside.toPath());
  }

  static String strings(Object[] segments) {
    List<String> parts = new ArrayList<>();
    for (Object segment : segments) {
      parts.add(segment == null ? "null" : "\"" + segment + "\"");
    }
    return parts.toString();
  }

  /** A digit for each time: 1 where there is a point, or a row. */
  static String times(Device device, int measurement, List<ModEntry> mods) {
    StringBuilder times = new StringBuilder();
    for (int t = 0; t < ROWS; t++) {
      final int time = t;
      boolean there = measurement < 0 || device.has(t, measurement);
      times.append(there && mods.stream().noneMatch(mod -> mod.getTimeRange().contains(time)) ? '1' : '0');
    }
    return "\"" + times + "\"";
  }

  static String hex(File file) throws Exception {
    StringBuilder hex = new StringBuilder();
    if (file.exists()) {
      for (byte b : Files.readAllBytes(file.toPath())) {
        hex.append(String.format("%02x", b));
      }
    }
    return "\"" + hex + "\"";
  }

  /** How many entries are read of a file that is cut after each byte; what is thrown where something is. */
  static void torn(File out, File file) throws Exception {
    File cut = new File(out, "torn.mods2");
    ModEntry[] entries = {
      path("root.sg.d1.s1", 3, 17),
      table("weather", new IDPredicate.And(new IDPredicate.SegmentExactMatch("north", 1), full("weather", null, "b")), 1, 30, "f1", "f2"),
      path("root.sg.d2.s2", MIN, 8)
    };
    Files.deleteIfExists(cut.toPath());
    try (ModificationFile mods = new ModificationFile(cut, false)) {
      for (ModEntry entry : entries) {
        mods.write(entry);
      }
    }
    byte[] bytes = Files.readAllBytes(cut.toPath());
    json.print(",\n\"torn\": {\"mods2\": " + hex(cut) + ", \"read\": [");
    for (int n = 0; n <= bytes.length; n++) {
      Files.write(cut.toPath(), Arrays.copyOf(bytes, n));
      String read;
      try (ModificationFile mods = new ModificationFile(cut, false)) {
        List<ModEntry> found = mods.getAllMods();
        read = Integer.toString(found.size());
        for (int i = 0; i < found.size(); i++) {
          if (!found.get(i).equals(entries[i])) {
            read = "\"" + found.get(i).toString().replace("\"", "'") + "\"";
          }
        }
      } catch (RuntimeException e) {
        read = "\"" + e.getClass().getSimpleName() + "\"";
      }
      json.print((n == 0 ? "" : ", ") + read);
    }
    json.print("]}");
    Files.delete(cut.toPath());
  }

  static List<IMeasurementSchema> schemas(Device device) {
    List<IMeasurementSchema> schemas = new ArrayList<>();
    for (String name : device.measurements) {
      schemas.add(new MeasurementSchema(name, TSDataType.INT32));
    }
    return schemas;
  }

  static void writeTree(File file) throws Exception {
    Files.deleteIfExists(file.toPath());
    try (TsFileWriter writer = new TsFileWriter(file)) {
      for (Device device : TREE) {
        if (device.aligned) {
          writer.registerAlignedTimeseries(device.id, schemas(device));
        } else {
          for (IMeasurementSchema schema : schemas(device)) {
            writer.registerTimeseries(device.id, schema);
          }
        }
      }
      for (int from = 0; from < ROWS; from += 15) {
        for (Device device : TREE) {
          Tablet tablet = new Tablet(device.path, schemas(device), 15);
          for (int t = from; t < Math.min(ROWS, from + 15); t++) {
            int row = t - from;
            tablet.addTimestamp(row, t);
            for (int m = 0; m < device.measurements.length; m++) {
              tablet.addValue(device.measurements[m], row, device.has(t, m) ? 100 * m + t : null);
            }
          }
          if (device.aligned) {
            writer.writeAligned(tablet);
          } else {
            writer.writeTree(tablet);
          }
        }
        writer.flush();
      }
    }
  }

  static void writeTables(File file) throws Exception {
    Files.deleteIfExists(file.toPath());
    try (TsFileWriter writer = new TsFileWriter(file)) {
      List<String> names = Arrays.asList("region", "plant", "f1", "f2", "f3");
      List<TSDataType> types = Arrays.asList(TSDataType.STRING, TSDataType.STRING, TSDataType.INT32, TSDataType.INT32, TSDataType.INT32);
      List<Tablet.ColumnCategory> kinds = Arrays.asList(Tablet.ColumnCategory.TAG, Tablet.ColumnCategory.TAG,
          Tablet.ColumnCategory.FIELD, Tablet.ColumnCategory.FIELD, Tablet.ColumnCategory.FIELD);
      for (String table : Arrays.asList("weather", "other")) {
        List<IMeasurementSchema> schemas = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
          schemas.add(new MeasurementSchema(names.get(i), types.get(i)));
        }
        writer.registerTableSchema(new TableSchema(table, schemas, kinds));
      }
      for (int from = 0; from < ROWS; from += 15) {
        for (Device device : TABLES) {
          Tablet tablet = new Tablet(device.id.getTableName(), names, types, kinds, 15);
          for (int t = from; t < Math.min(ROWS, from + 15); t++) {
            int row = t - from;
            tablet.addTimestamp(row, t);
            tablet.addValue("region", row, device.id.segment(1));
            tablet.addValue("plant", row, device.id.segment(2));
            for (int m = 0; m < 3; m++) {
              tablet.addValue(device.measurements[m], row, device.has(t, m) ? 100 * m + t : null);
            }
          }
          writer.writeTable(tablet);
        }
        writer.flush();
      }
    }
  }
}
