import java.io.File;
import java.util.ArrayList;
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

/** Writes freq.tsfile with org.apache.iotdb:tsfile:1.0.0 and prints what that library reads from it. */
public class Freq {
  public static void main(String[] args) throws Exception {
    TSDataType[] types = {TSDataType.INT32, TSDataType.INT64, TSDataType.FLOAT, TSDataType.DOUBLE};
    String[] names = {"i", "l", "f", "d"};
    TsFileWriter writer = new TsFileWriter(new File(args[0]));
    for (int i = 0; i < names.length; i++) {
      writer.registerTimeseries(
          new Path("root.w"),
          new MeasurementSchema(names[i], types[i], TSEncoding.FREQ, CompressionType.UNCOMPRESSED));
    }
    for (int t = 0; t < 40; t++) {
      TSRecord record = new TSRecord(1000 + 10 * t, "root.w");
      double wave = 500 + 200 * Math.sin(t / 5.0) + (t % 7);
      record.addTuple(new IntDataPoint("i", (int) wave));
      record.addTuple(new LongDataPoint("l", (long) (wave * 1e6)));
      record.addTuple(new FloatDataPoint("f", (float) wave));
      record.addTuple(new DoubleDataPoint("d", wave));
      writer.write(record);
    }
    writer.close();
    TsFileReader reader = new TsFileReader(new TsFileSequenceReader(args[0]));
    ArrayList<Path> paths = new ArrayList<>();
    for (String name : names) {
      paths.add(new Path("root.w", name, true));
    }
    QueryDataSet rows = reader.query(QueryExpression.create(paths, null));
    while (rows.hasNext()) {
      RowRecord row = rows.next();
      System.out.println(row.getTimestamp() + "\t" + row.getFields().get(0).getIntV() + "\t" + row.getFields().get(1).getLongV()
          + "\t" + row.getFields().get(2).getFloatV() + "\t" + row.getFields().get(3).getDoubleV());
    }
    reader.close();
  }
}
