import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.iotdb.tsfile.file.metadata.enums.CompressionType;
import org.apache.iotdb.tsfile.file.metadata.enums.TSDataType;
import org.apache.iotdb.tsfile.file.metadata.enums.TSEncoding;
import org.apache.iotdb.tsfile.read.TsFileReader;
import org.apache.iotdb.tsfile.read.TsFileSequenceReader;
import org.apache.iotdb.tsfile.read.common.Path;
import org.apache.iotdb.tsfile.read.common.RowRecord;
import org.apache.iotdb.tsfile.read.expression.QueryExpression;
import org.apache.iotdb.tsfile.read.query.dataset.QueryDataSet;
import org.apache.iotdb.tsfile.write.TsFileWriter;
import org.apache.iotdb.tsfile.write.record.TSRecord;
import org.apache.iotdb.tsfile.write.record.datapoint.DoubleDataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.FloatDataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.IntDataPoint;
import org.apache.iotdb.tsfile.write.record.datapoint.LongDataPoint;
import org.apache.iotdb.tsfile.write.schema.MeasurementSchema;

/**
 * Writes freq-settings.tsfile with org.apache.iotdb:tsfile:1.0.0 and prints what that library reads from it: a device per
 * signal-to-noise ratio and block size, noisy waves of both signs, the last block of a page not full.
 */
public class FreqSettings {
  static final String[][] SETTINGS = {{"a", "5", "64"}, {"b", "20", "100"}, {"c", "40", "1024"}, {"d", "120", "33"}};
  static final String[] NAMES = {"i", "l", "f", "d"};

  public static void main(String[] args) throws Exception {
    TSDataType[] types = {TSDataType.INT32, TSDataType.INT64, TSDataType.FLOAT, TSDataType.DOUBLE};
    TsFileWriter writer = new TsFileWriter(new File(args[0]));
    for (String[] setting : SETTINGS) {
      Map<String, String> props = new HashMap<>();
      props.put("freq_encoding_snr", setting[1]);
      props.put("freq_encoding_block_size", setting[2]);
      for (int i = 0; i < NAMES.length; i++) {
        writer.registerTimeseries(
            new Path("root." + setting[0]),
            new MeasurementSchema(NAMES[i], types[i], TSEncoding.FREQ, CompressionType.SNAPPY, props));
      }
      long noise = 12345;
      for (int t = 0; t < 150; t++) {
        TSRecord record = new TSRecord(1000 + 10 * t, "root." + setting[0]);
        noise = (noise * 6364136223846793005L + 1442695040888963407L);
        double wave = 300 * Math.sin(t / 9.0) + 50 * Math.cos(t / 2.0) + (noise >> 40) / 1e6;
        record.addTuple(new IntDataPoint("i", (int) wave));
        record.addTuple(new LongDataPoint("l", (long) (wave * 1e9)));
        record.addTuple(new FloatDataPoint("f", (float) wave));
        record.addTuple(new DoubleDataPoint("d", wave * 1e-3));
        writer.write(record);
      }
    }
    writer.close();
    TsFileReader reader = new TsFileReader(new TsFileSequenceReader(args[0]));
    for (String[] setting : SETTINGS) {
      ArrayList<Path> paths = new ArrayList<>();
      for (String name : NAMES) {
        paths.add(new Path("root." + setting[0], name, true));
      }
      QueryDataSet rows = reader.query(QueryExpression.create(paths, null));
      while (rows.hasNext()) {
        RowRecord row = rows.next();
        System.out.println(setting[0] + "\t" + row.getTimestamp() + "\t" + row.getFields().get(0).getIntV() + "\t"
            + row.getFields().get(1).getLongV() + "\t" + row.getFields().get(2).getFloatV() + "\t"
            + row.getFields().get(3).getDoubleV());
      }
    }
    reader.close();
  }
}
