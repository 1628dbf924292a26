//! Resuming a file: its records are kept, and new row groups follow them.

use tesselle_codec::compress::zstd::RawDictionary;
use tesselle_core::{Driver, Error, Result, driver};

use super::Writer;
use crate::meta::footer::{Footer, is_known_section};
use crate::meta::header::HEADER_LEN;
use crate::meta::types::Codec;
use crate::open::File;
use crate::repair::for_each_batch_of;
use crate::write::blobs::BlobSpool;
use crate::write::options::WriterOptions;

impl Writer {
    /// Starts a new state of a file, which takes rows of its columns. Until it is finished the old state stays.
    pub(crate) fn resume(file: &File, options: WriterOptions, driver: &Driver) -> Result<Self> {
        let old = file.footer();
        if let Some((tag, offset, _)) = old.sections.iter().find(|(tag, _, _)| !is_known_section(*tag)) {
            return Err(Error::unsupported(format!(
                "the footer has a section {tag} that this version does not know"
            ))
            .offset(*offset)
            .hint("append with the program that wrote the file"));
        }
        let mut writer =
            Self::with_schema(file.location(), old.schema.clone(), &file.schema(), options, true, driver)?
                .minor_version(file.header().minor.min(1));
        let end = file.header().footer_offset;
        file.check_inside(0, end)?;
        driver::copy(file.location(), HEADER_LEN..end, &mut *writer.out, driver)?;
        let features = writer.footer.extension.features;
        writer.footer = Footer { blobs: Vec::new(), sections: Vec::new(), ..old.clone() };
        writer.footer.extension.features |= features;
        writer.resumed_rows = old.stats.rows;
        for column in 0..old.schema.fields.len() {
            // Pages refer to one dictionary of values, which is complete.
            if old.extension.dictionary(column).is_some()
                && let Some(builder) = writer.dictionaries.get_mut(column)
            {
                *builder = None;
            }
            writer.resume_blobs(file, column)?;
        }
        writer.resume_order(file)?;
        Ok(writer)
    }

    /// Further runs of a blob column are compressed like those it has.
    fn resume_blobs(&mut self, file: &File, column: usize) -> Result<()> {
        let Some(known) = file.footer().blob_column(column) else { return Ok(()) };
        let dictionary = match known.dictionary {
            0 => None,
            number => {
                file.content_dictionary(number)?.map(|known| RawDictionary::new(known.content().to_vec()))
            }
        };
        let expected = if dictionary.is_some() { Codec::ZstdDict } else { Codec::Zstd };
        if known.codec != expected.id() {
            return Err(Error::unsupported(format!(
                "blob column {column} has the codec {}, in which runs are not written",
                known.codec
            ))
            .hint("convert the file and the rows into a new one"));
        }
        if let Some(spool) = self.blobs.get_mut(column) {
            *spool = Some(BlobSpool::resumed(self.options.blob_run_bytes, dictionary));
        }
        self.resumed_blobs.insert(column, known.clone());
        Ok(())
    }

    /// New keys follow the last one.
    fn resume_order(&mut self, file: &File) -> Result<()> {
        let (Some(order), Some(key)) = (&mut self.order, self.footer.schema.sort_key()) else {
            return Ok(());
        };
        let Some(last) = file.footer().groups.len().checked_sub(1) else { return Ok(()) };
        for_each_batch_of(file, last, vec![key], None, |batch| {
            if let Some(keys) = batch.columns().first() {
                order.resume(crate::write::schema::normalize(keys, "sort key")?.as_ref());
            }
            Ok(())
        })
    }
}
