//! The files of rows that exceed the memory of operators.
//!
//! DataFusion's own files keep a descriptor each and are read on threads that may block, one for each file that a merge
//! reads: with little memory a sort has hundreds of them, and their stacks and buffers are far larger than the memory that it
//! may use. These have no descriptor, no thread, and a buffer that fits the memory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures::{Stream, stream};
use tesselle::Location;
use tesselle::storage::StagedFolder;

/// The bytes that are read of a file at once: at least, and at most.
const CHUNK: (usize, usize) = (16 << 10, 128 << 10);

/// The chunks of a file that a merge keeps in memory: the next one, and those that the batches before it refer to.
const CHUNKS_PER_FILE: usize = 4;

/// Creates the files that operators with `share` bytes of memory each spill to. `None`: the system has no place for them.
pub(crate) fn disk(share: usize) -> Option<DiskManagerBuilder> {
    let folder = Arc::new(folder()?);
    let chunk = (share / 256).clamp(CHUNK.0, CHUNK.1);
    let files = SpillFolder { folder, files: AtomicU64::new(0), chunk };
    let merged = (share / (CHUNKS_PER_FILE * chunk)).max(2);
    let builder = DiskManagerBuilder::default().with_max_spill_merge_fan_in(merged);
    Some(builder.with_temp_file_factory(Arc::new(files)))
}

/// A staged folder, so that it goes when the process is ended by a signal, and the next session removes what a killed one has
/// left.
#[expect(clippy::disallowed_methods, reason = "spilled rows have no target to lie next to")]
fn folder() -> Option<StagedFolder> {
    let target = Location::local(std::env::temp_dir().join("tess-spill")).ok()?;
    StagedFolder::try_new(&target).ok()
}

struct SpillFolder {
    folder: Arc<StagedFolder>,
    /// Files created so far.
    files: AtomicU64,
    chunk: usize,
}

impl TempFileFactory for SpillFolder {
    fn create_temp_file(&self, _: &str) -> Result<Arc<dyn SpillFile>> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(self.folder.location().path()).join(number.to_string());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?;
        let written = Written { path, bytes: AtomicU64::new(0), _folder: Arc::clone(&self.folder) };
        Ok(Arc::new(Spilled { written: Arc::new(written), chunk: self.chunk }))
    }
}

/// A file, which is removed after its last use.
struct Written {
    path: PathBuf,
    bytes: AtomicU64,
    _folder: Arc<StagedFolder>,
}

impl Drop for Written {
    fn drop(&mut self) {
        // What cannot be removed goes with the folder.
        let _ = std::fs::remove_file(&self.path);
    }
}

struct Spilled {
    written: Arc<Written>,
    chunk: usize,
}

impl SpillFile for Spilled {
    fn path(&self) -> Option<&Path> {
        Some(&self.written.path)
    }

    fn size(&self) -> Option<u64> {
        Some(self.written.bytes.load(Ordering::Acquire))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let chunks = Chunks { written: Arc::clone(&self.written), chunk: self.chunk, at: 0 };
        Ok(Box::pin(stream::iter(chunks)))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let file = OpenOptions::new().append(true).open(&self.written.path)?;
        Ok(Box::new(Writer { file, written: Arc::clone(&self.written) }))
    }
}

struct Writer {
    file: File,
    written: Arc<Written>,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.written.bytes.fetch_add(n as u64, Ordering::Release);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Reads what is written so far, from front to back. The file is open only during a read, so that any number of files can be
/// merged with few descriptors.
struct Chunks {
    written: Arc<Written>,
    chunk: usize,
    at: u64,
}

impl Chunks {
    fn read(&mut self) -> io::Result<Bytes> {
        let left = self.written.bytes.load(Ordering::Acquire) - self.at;
        let mut bytes = vec![0; usize::try_from(left).map_or(self.chunk, |left| left.min(self.chunk))];
        if !bytes.is_empty() {
            let mut file = File::open(&self.written.path)?;
            file.seek(SeekFrom::Start(self.at))?;
            file.read_exact(&mut bytes)?;
            self.at += bytes.len() as u64;
        }
        Ok(bytes.into())
    }
}

impl Iterator for Chunks {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.read().map_err(Into::into);
        Some(chunk).filter(|chunk| !matches!(chunk, Ok(bytes) if bytes.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use futures::executor::block_on_stream;

    use super::*;

    #[test]
    fn a_file_is_read_while_it_is_written_and_removed_after_its_last_use() {
        let builder = RuntimeEnvBuilder::new().with_disk_manager_builder(disk(1 << 20).unwrap());
        let disk = builder.build().unwrap().disk_manager;
        let file = disk.create_tmp_file("a test").unwrap();
        let path = file.path().unwrap().to_owned();
        assert!(block_on_stream(file.read_stream().unwrap()).next().is_none());
        let mut writer = file.open_writer().unwrap();
        let mut read = block_on_stream(file.read_stream().unwrap());
        for n in 1..=3_u8 {
            writer.write_all(&vec![n; 20 << 10]).unwrap();
            let (mut chunks, mut bytes) = (0, Vec::new());
            while bytes.len() < 20 << 10 {
                bytes.extend_from_slice(&read.next().unwrap().unwrap());
                chunks += 1;
            }
            assert_eq!((chunks, bytes), (2, vec![n; 20 << 10]));
        }
        writer.finish().unwrap();
        assert_eq!(file.size(), Some(60 << 10));
        assert!(read.next().is_none());
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        drop((file, writer));
        assert!(path.exists());
        drop(read);
        assert!(!path.exists());
    }

    #[test]
    fn a_merge_reads_as_many_files_as_its_memory_has_chunks() {
        let most = |share| disk(share).unwrap().build().unwrap().max_spill_merge_fan_in();
        assert_eq!([most(0), most(3 << 20), most(1 << 30)], [2, 48, 2048]);
    }
}
