import java.io.BufferedReader;
import java.io.File;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.LocalDate;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.tsfile.enums.TSDataType;
import org.apache.tsfile.file.metadata.enums.CompressionType;
import org.apache.tsfile.file.metadata.enums.TSEncoding;
import org.apache.tsfile.read.common.Path;
import org.apache.tsfile.utils.Binary;
import org.apache.tsfile.write.TsFileWriter;
import org.apache.tsfile.write.record.Tablet;
import org.apache.tsfile.write.schema.MeasurementSchema;

/**
 * The 1.x and 2.x libraries as writers of one device. "FILE DEVICE aligned|ordinary ROWS" takes lines
 * "schema, measurement, type, encoding, compression" for each measurement and then rows of a time and the values in that
 * order, tab separated, a dash for none. Floats are the hexadecimal digits of their bits, strings and bytes those of their bytes.
 */
public class Rows {
  private static final int TABLET = 1000;

  @SuppressWarnings({"unchecked", "rawtypes"})
  public static void main(String[] args) throws Exception {
    List<MeasurementSchema> schemas = new ArrayList<>();
    List<String> names = new ArrayList<>();
    List<String[]> rows = new ArrayList<>();
    try (BufferedReader lines = Files.newBufferedReader(Paths.get(args[3]), StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] f = line.split("\t", -1);
        if (f[0].equals("schema")) {
          names.add(f[1]);
          schemas.add(
              new MeasurementSchema(f[1], TSDataType.valueOf(f[2]), TSEncoding.valueOf(f[3]),
                  CompressionType.valueOf(f[4])));
        } else {
          rows.add(f);
        }
      }
    }
    boolean aligned = args[2].equals("aligned");
    try (TsFileWriter writer = new TsFileWriter(new File(args[0]))) {
      // The element type of these lists differs between the releases.
      if (aligned) {
        writer.registerAlignedTimeseries(new Path(args[1]), (List) schemas);
        write(writer, args[1], schemas, names, rows, 0, true);
      } else {
        for (int column = 0; column < schemas.size(); column++) {
          writer.registerTimeseries(new Path(args[1]), schemas.get(column));
        }
        for (int column = 0; column < schemas.size(); column++) {
          int at = column + 1;
          List<String[]> there = new ArrayList<>(rows);
          there.removeIf(row -> row[at].equals("-"));
          List<MeasurementSchema> one = Collections.singletonList(schemas.get(column));
          write(writer, args[1], one, names.subList(column, at), there, column, false);
        }
      }
    }
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static void write(
      TsFileWriter writer,
      String device,
      List<MeasurementSchema> schemas,
      List<String> names,
      List<String[]> rows,
      int skip,
      boolean aligned)
      throws Exception {
    for (int from = 0; from < rows.size(); from += TABLET) {
      int count = Math.min(TABLET, rows.size() - from);
      Tablet tablet = new Tablet(device, (List) schemas, count);
      tablet.initBitMaps();
      for (int i = 0; i < count; i++) {
        String[] row = rows.get(from + i);
        tablet.addTimestamp(i, Long.parseLong(row[0]));
        for (int c = 0; c < schemas.size(); c++) {
          String text = row[c + skip + 1];
          Object value = text.equals("-") ? null : value(text, schemas.get(c).getType());
          tablet.addValue(names.get(c), i, value);
        }
      }
      size(tablet, count);
      if (aligned) {
        writer.writeAligned(tablet);
      } else {
        ordinary().invoke(writer, tablet);
      }
    }
  }

  private static Method ordinary() throws NoSuchMethodException {
    try {
      return TsFileWriter.class.getMethod("writeTree", Tablet.class);
    } catch (NoSuchMethodException older) {
      return TsFileWriter.class.getMethod("write", Tablet.class);
    }
  }

  private static void size(Tablet tablet, int rows) throws Exception {
    try {
      Tablet.class.getField("rowSize").setInt(tablet, rows);
    } catch (NoSuchFieldException newer) {
      Tablet.class.getMethod("setRowSize", int.class).invoke(tablet, rows);
    }
  }

  private static Object value(String text, TSDataType type) {
    switch (type.name()) {
      case "BOOLEAN":
        return Boolean.parseBoolean(text);
      case "INT32":
        return Integer.parseInt(text);
      case "INT64":
      case "TIMESTAMP":
        return Long.parseLong(text);
      case "FLOAT":
        return Float.intBitsToFloat(Integer.parseUnsignedInt(text, 16));
      case "DOUBLE":
        return Double.longBitsToDouble(Long.parseUnsignedLong(text, 16));
      case "DATE":
        return LocalDate.parse(text, DateTimeFormatter.BASIC_ISO_DATE);
      default:
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return new Binary(bytes);
    }
  }
}
