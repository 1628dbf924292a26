import java.io.File;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.apache.iotdb.commons.path.PartialPath;
import org.apache.iotdb.db.storageengine.dataregion.modification.Deletion;
import org.apache.iotdb.db.storageengine.dataregion.modification.Modification;
import org.apache.iotdb.db.storageengine.dataregion.modification.ModificationFile;
import org.apache.iotdb.db.storageengine.dataregion.tsfile.TsFileResource;

/** The side files of IoTDB 1, by its own classes. See Deletions.java for the calls. */
public class DeletionsTree {
  public static void main(String[] args) throws Exception {
    if (args[0].equals("resource")) {
      TsFileResource resource = new TsFileResource(new File(args[1]));
      resource.deserialize();
      for (String device : resource.getDevices()) {
        System.out.println(device + "\t" + resource.getStartTime(device) + "\t" + resource.getEndTime(device));
      }
      return;
    }
    List<String> lines = Files.readAllLines(Paths.get(args[2]));
    try (ModificationFile file = new ModificationFile(args[1] + ModificationFile.FILE_SUFFIX)) {
      if (args[0].equals("write")) {
        for (String line : lines) {
          String[] parts = line.split("\t");
          long start = Long.parseLong(parts[1]), end = Long.parseLong(parts[2]);
          file.write(new Deletion(new PartialPath(parts[0]), new File(args[1]).length(), start, end));
        }
        return;
      }
      List<Modification> modifications = new ArrayList<>(file.getModifications());
      for (String line : lines) {
        String[] parts = line.split("\t");
        PartialPath path = new PartialPath(parts[0], parts[1]);
        long time = Long.parseLong(parts[2]);
        boolean deleted = false;
        for (Modification modification : modifications) {
          Deletion deletion = (Deletion) modification;
          boolean covers = deletion.getStartTime() <= time && time <= deletion.getEndTime();
          deleted |= covers && deletion.getPath().matchFullPath(path);
        }
        if (!deleted) {
          System.out.println(line);
        }
      }
    }
  }
}
