import java.io.BufferedReader;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Map;
import org.apache.iotdb.tsfile.file.metadata.TsFileMetaData;
import org.apache.iotdb.tsfile.file.metadata.enums.CompressionType;
import org.apache.iotdb.tsfile.file.metadata.enums.TSDataType;
import org.apache.iotdb.tsfile.file.metadata.enums.TSEncoding;
import org.apache.iotdb.tsfile.read.ReadOnlyTsFile;
import org.apache.iotdb.tsfile.read.TsFileSequenceReader;
import org.apache.iotdb.tsfile.read.common.Field;
import org.apache.iotdb.tsfile.read.common.Path;
import org.apache.iotdb.tsfile.read.common.RowRecord;
import org.apache.iotdb.tsfile.read.expression.QueryExpression;
import org.apache.iotdb.tsfile.read.query.dataset.QueryDataSet;
import org.apache.iotdb.tsfile.utils.Binary;
import org.apache.iotdb.tsfile.write.TsFileWriter;
import org.apache.iotdb.tsfile.write.record.TSRecord;
import org.apache.iotdb.tsfile.write.record.datapoint.BooleanDataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.DataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.DoubleDataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.FloatDataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.IntDataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.LongDataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.StringDataPoint;
import org.apache.iotdb.tsfile.write.schema.MeasurementSchema;

/**
 * The 0.9 library on the other side of the table. "read FILE" prints every point as
 * device, measurement, time, type, value; "write FILE POINTS" takes the same lines, after a line
 * "schema, measurement, type, encoding, compression" for each measurement. Fields are tab separated,
 * floats are the hexadecimal digits of their bits, strings those of their bytes.
 */
public class Points {
  public static void main(String[] args) throws Exception {
    if (args[0].equals("read")) {
      read(args[1]);
    } else {
      write(args[1], args[2]);
    }
  }

  private static void read(String file) throws Exception {
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    TsFileSequenceReader reader = new TsFileSequenceReader(file);
    TsFileMetaData metadata = reader.readFileMetadata();
    ReadOnlyTsFile readable = new ReadOnlyTsFile(reader);
    for (String device : metadata.getDeviceMap().keySet()) {
      for (Map.Entry<String, MeasurementSchema> entry : metadata.getMeasurementSchema().entrySet()) {
        ArrayList<Path> paths = new ArrayList<>();
        paths.add(new Path(device, entry.getKey()));
        QueryDataSet rows = readable.query(QueryExpression.create(paths, null));
        while (rows.hasNext()) {
          RowRecord row = rows.next();
          Field field = row.getFields().get(0);
          String value = text(field, entry.getValue().getType());
          out.println(
              String.join("\t", device, entry.getKey(), Long.toString(row.getTimestamp()),
                  entry.getValue().getType().name(), value));
        }
      }
    }
    readable.close();
    out.flush();
  }

  private static String text(Field field, TSDataType type) {
    switch (type) {
      case BOOLEAN:
        return Boolean.toString(field.getBoolV());
      case INT32:
        return Integer.toString(field.getIntV());
      case INT64:
        return Long.toString(field.getLongV());
      case FLOAT:
        return Integer.toHexString(Float.floatToIntBits(field.getFloatV()));
      case DOUBLE:
        return Long.toHexString(Double.doubleToLongBits(field.getDoubleV()));
      default:
        StringBuilder hex = new StringBuilder();
        for (byte b : field.getBinaryV().getValues()) {
          hex.append(String.format("%02x", b));
        }
        return hex.toString();
    }
  }

  private static void write(String file, String points) throws Exception {
    TsFileWriter writer = new TsFileWriter(new File(file));
    try (BufferedReader lines = Files.newBufferedReader(Paths.get(points), StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] f = line.split("\t", -1);
        if (f[0].equals("schema")) {
          writer.addMeasurement(
              new MeasurementSchema(f[1], TSDataType.valueOf(f[2]), TSEncoding.valueOf(f[3]),
                  CompressionType.valueOf(f[4])));
          continue;
        }
        TSRecord record = new TSRecord(Long.parseLong(f[2]), f[0]);
        record.addTuple(point(f[1], TSDataType.valueOf(f[3]), f[4]));
        writer.write(record);
      }
    }
    writer.close();
  }

  private static DataPoint point(String name, TSDataType type, String text) {
    switch (type) {
      case BOOLEAN:
        return new BooleanDataPoint(name, Boolean.parseBoolean(text));
      case INT32:
        return new IntDataPoint(name, Integer.parseInt(text));
      case INT64:
        return new LongDataPoint(name, Long.parseLong(text));
      case FLOAT:
        return new FloatDataPoint(name, Float.intBitsToFloat(Integer.parseUnsignedInt(text, 16)));
      case DOUBLE:
        return new DoubleDataPoint(name, Double.longBitsToDouble(Long.parseUnsignedLong(text, 16)));
      default:
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return new StringDataPoint(name, new Binary(bytes));
    }
  }
}
