import java.io.PrintStream;
import java.util.ArrayList;
import org.apache.tsfile.enums.TSDataType;
import org.apache.tsfile.read.TsFileReader;
import org.apache.tsfile.read.TsFileSequenceReader;
import org.apache.tsfile.read.common.Field;
import org.apache.tsfile.read.common.Path;
import org.apache.tsfile.read.common.RowRecord;
import org.apache.tsfile.read.expression.QueryExpression;
import org.apache.tsfile.read.query.dataset.QueryDataSet;

/**
 * The 1.x and 2.x libraries as readers of series. "FILE DEVICE MEASUREMENT…" prints every point as
 * measurement, time, type, value. Floats are the hexadecimal digits of their bits, strings and bytes those of their bytes.
 */
public class Series {
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    try (TsFileReader reader = new TsFileReader(new TsFileSequenceReader(args[0]))) {
      for (int i = 2; i < args.length; i++) {
        ArrayList<Path> paths = new ArrayList<>();
        paths.add(new Path(args[1], args[i], true));
        QueryDataSet rows = reader.query(QueryExpression.create(paths, null));
        while (rows.hasNext()) {
          RowRecord row = rows.next();
          Field field = row.getFields().get(0);
          if (field == null || field.getDataType() == null) {
            continue;
          }
          out.println(
              String.join("\t", args[i], Long.toString(row.getTimestamp()), field.getDataType().name(), text(field)));
        }
      }
    }
    out.flush();
  }

  private static String text(Field field) {
    TSDataType type = field.getDataType();
    switch (type.name()) {
      case "BOOLEAN":
        return Boolean.toString(field.getBoolV());
      case "INT32":
      case "DATE":
        return Integer.toString(field.getIntV());
      case "INT64":
      case "TIMESTAMP":
        return Long.toString(field.getLongV());
      case "FLOAT":
        return Integer.toHexString(Float.floatToIntBits(field.getFloatV()));
      case "DOUBLE":
        return Long.toHexString(Double.doubleToLongBits(field.getDoubleV()));
      default:
        StringBuilder hex = new StringBuilder();
        for (byte b : field.getBinaryV().getValues()) {
          hex.append(String.format("%02x", b));
        }
        return hex.toString();
    }
  }
}
