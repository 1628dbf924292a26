import java.io.File;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iotdb.commons.path.MeasurementPath;
import org.apache.iotdb.db.storageengine.dataregion.modification.ModEntry;
import org.apache.iotdb.db.storageengine.dataregion.modification.ModificationFile;
import org.apache.iotdb.db.storageengine.dataregion.modification.TreeDeletionEntry;
import org.apache.iotdb.db.storageengine.dataregion.tsfile.TsFileResource;
import org.apache.tsfile.file.metadata.IDeviceID;
import org.apache.tsfile.file.metadata.StringArrayDeviceID;

/**
 * The side files of IoTDB 2, by its own classes.
 *
 * <pre>
 * read FILE POINTS      prints the points (device, measurement, time, separated by tabs) that are not deleted
 * write FILE DELETIONS  appends deletions (path, first time, last time) to the side file
 * resource FILE         prints device, first time and last time of the resource file
 * </pre>
 *
 * The segments of a device of a table are separated by |.
 */
public class Deletions {
  private static IDeviceID device(String text) {
    String[] segments = text.split("\\|", -1);
    return segments.length > 1
        ? new StringArrayDeviceID(segments)
        : IDeviceID.Factory.DEFAULT_FACTORY.create(text);
  }

  private static String text(IDeviceID device) {
    String[] segments = Arrays.copyOf(device.getSegments(), device.segmentNum(), String[].class);
    return device.isTableModel() ? String.join("|", segments) : device.toString();
  }

  public static void main(String[] args) throws Exception {
    File data = new File(args[1]);
    if (args[0].equals("resource")) {
      TsFileResource resource = new TsFileResource(data);
      resource.deserialize();
      for (IDeviceID device : resource.getDevices()) {
        System.out.println(text(device) + "\t" + resource.getStartTime(device) + "\t" + resource.getEndTime(device));
      }
      return;
    }
    List<String> lines = Files.readAllLines(Paths.get(args[2]));
    try (ModificationFile file = new ModificationFile(ModificationFile.getExclusiveMods(data), false)) {
      if (args[0].equals("write")) {
        for (String line : lines) {
          String[] parts = line.split("\t");
          long start = Long.parseLong(parts[1]), end = Long.parseLong(parts[2]);
          file.write(new TreeDeletionEntry(new MeasurementPath(parts[0]), start, end));
        }
        return;
      }
      List<ModEntry> entries = new ArrayList<>(file.getAllMods());
      for (String line : lines) {
        String[] parts = line.split("\t");
        IDeviceID device = device(parts[0]);
        long time = Long.parseLong(parts[2]);
        boolean deleted = false;
        for (ModEntry entry : entries) {
          deleted |= entry.affects(device, time, time) && entry.affects(parts[1]);
        }
        if (!deleted) {
          System.out.println(line);
        }
      }
    }
  }
}
