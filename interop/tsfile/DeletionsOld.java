import java.io.File;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iotdb.db.engine.modification.Deletion;
import org.apache.iotdb.db.engine.modification.Modification;
import org.apache.iotdb.db.engine.modification.ModificationFile;
import org.apache.iotdb.db.engine.storagegroup.TsFileResource;
import org.apache.iotdb.tsfile.read.common.Path;

/** The side files of IoTDB 0.9, by its own classes. See Deletions.java for the calls. */
public class DeletionsOld {
  public static void main(String[] args) throws Exception {
    if (args[0].equals("resource")) {
      TsFileResource resource = new TsFileResource(new File(args[1]));
      resource.deSerialize();
      for (Map.Entry<String, Long> device : resource.getStartTimeMap().entrySet()) {
        long end = resource.getEndTimeMap().get(device.getKey());
        System.out.println(device.getKey() + "\t" + device.getValue() + "\t" + end);
      }
      return;
    }
    ModificationFile file = new ModificationFile(args[1] + ModificationFile.FILE_SUFFIX);
    List<String> lines = Files.readAllLines(Paths.get(args[2]));
    if (args[0].equals("write")) {
      for (String line : lines) {
        String[] parts = line.split("\t");
        file.write(new Deletion(new Path(parts[0]), Long.MAX_VALUE, Long.parseLong(parts[2])));
      }
      file.close();
      return;
    }
    List<Modification> modifications = new ArrayList<>(file.getModifications());
    for (String line : lines) {
      String[] parts = line.split("\t");
      boolean deleted = false;
      for (Modification modification : modifications) {
        boolean same = modification.getDevice().equals(parts[0]) && modification.getMeasurement().equals(parts[1]);
        deleted |= same && Long.parseLong(parts[2]) <= ((Deletion) modification).getTimestamp();
      }
      if (!deleted) {
        System.out.println(line);
      }
    }
  }
}
