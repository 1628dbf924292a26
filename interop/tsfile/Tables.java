import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.tsfile.read.query.dataset.ResultSet;
import org.apache.tsfile.read.v4.ITsFileReader;
import org.apache.tsfile.read.v4.TsFileReaderBuilder;

/**
 * The 2.x library as a reader of tables. "FILE TABLE COLUMN:TYPE…" prints every row as time and the columns, a dash
 * for null. Floats are the hexadecimal digits of their bits, strings and bytes those of their bytes.
 */
public class Tables {
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    List<String> names = new ArrayList<>();
    List<String> types = new ArrayList<>();
    for (String column : Arrays.asList(args).subList(2, args.length)) {
      names.add(column.split(":")[0]);
      types.add(column.split(":")[1]);
    }
    try (ITsFileReader reader = new TsFileReaderBuilder().file(new File(args[0])).build();
        ResultSet rows = reader.query(args[1], names, Long.MIN_VALUE, Long.MAX_VALUE)) {
      while (rows.next()) {
        StringBuilder line = new StringBuilder();
        line.append(rows.getLong(1));
        for (int i = 0; i < names.size(); i++) {
          line.append('\t').append(rows.isNull(i + 2) ? "-" : text(rows, i + 2, types.get(i)));
        }
        out.println(line);
      }
    }
    out.flush();
  }

  private static String text(ResultSet rows, int i, String type) {
    switch (type) {
      case "BOOLEAN":
        return Boolean.toString(rows.getBoolean(i));
      case "INT32":
        return Integer.toString(rows.getInt(i));
      case "DATE":
        LocalDate day = rows.getDate(i);
        return day.toString();
      case "INT64":
      case "TIMESTAMP":
        return Long.toString(rows.getLong(i));
      case "FLOAT":
        return Integer.toHexString(Float.floatToIntBits(rows.getFloat(i)));
      case "DOUBLE":
        return Long.toHexString(Double.doubleToLongBits(rows.getDouble(i)));
      case "BLOB":
        return hex(rows.getBinary(i));
      default:
        return hex(rows.getString(i).getBytes(StandardCharsets.UTF_8));
    }
  }

  private static String hex(byte[] bytes) {
    StringBuilder hex = new StringBuilder();
    for (byte b : bytes) {
      hex.append(String.format("%02x", b));
    }
    return hex.toString();
  }
}
