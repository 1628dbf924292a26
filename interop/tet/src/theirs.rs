//! The other direction: files of the original engine.

use std::path::Path;

use tesselle_core::Location;
use tesselle_tet::{Alignment, Codec, Writer, WriterOptions};
use tetration::catalog::{
    CHUNK_PAYLOAD_CODEC_V1, RawArrayWrite, TetDatasetWrite, TetWriterSession, append_multi_raw_array_file,
    embed_indexes_in_tet, write_raw_array_file,
};

use crate::Outcome;
use crate::case::Case;
use crate::ours;

fn spec<'a>(case: &'a Case, name: &'a str) -> RawArrayWrite<'a> {
    let codecs = CHUNK_PAYLOAD_CODEC_V1;
    RawArrayWrite {
        name,
        dtype: case.tag(),
        shape: &case.shape,
        chunk_shape: &case.chunk_shape,
        chunk_codec: if case.codec == Codec::Raw { codecs.raw } else { codecs.zstd },
        data: &case.bytes,
        file_execution: None,
    }
}

pub fn written_there_reads_here(case: &Case, path: &Path) -> Outcome {
    write_raw_array_file(path, &spec(case, "a"))?;
    ours::check(case, path, 0)?;
    Ok(())
}

/// Compressed bytes are not part of the format, so only raw tiles can be compared.
pub fn raw_bytes_are_equal(case: &Case, path: &Path) -> Outcome {
    if case.codec != Codec::Raw {
        return Ok(());
    }
    write_raw_array_file(path, &spec(case, "a"))?;
    let theirs = std::fs::read(path)?;
    ours::write(case, path, Alignment::Packed, None)?;
    if std::fs::read(path)? == theirs { Ok(()) } else { Err("the bytes differ".into()) }
}

/// It adds zone maps and a secondary index to our plain footer: the result is what we write ourselves.
pub fn documents_are_equal(case: &Case, path: &Path) -> Outcome {
    ours::write(case, path, Alignment::Packed, Some(ours::footer(case, true)))?;
    let here = std::fs::read(path)?;
    ours::write(case, path, Alignment::Packed, Some(ours::footer(case, false)))?;
    embed_indexes_in_tet(path, 0)?;
    if std::fs::read(path)? == here { Ok(()) } else { Err("the documents differ".into()) }
}

pub fn appended_in_turn(case: &Case, path: &Path) -> Outcome {
    ours::write(case, path, Alignment::Packed, None)?;
    append_multi_raw_array_file(path, &[spec(case, "b")])?;
    let mut writer =
        Writer::append(&Location::local(path)?, &[ours::spec(case, "c")], WriterOptions::default(), ours::driver())?;
    writer.push_rows(2, &case.bytes)?;
    writer.finish()?;
    for (id, name) in ["a", "b", "c"].into_iter().enumerate() {
        ours::check(case, path, id)?;
        ours::check_there(case, path, name)?;
    }
    Ok(())
}

/// A writer session leaves history, metadata, zone maps and an index; our deep verification recomputes them.
pub fn session_reads_here(case: &Case, path: &Path) -> Outcome {
    let _ = std::fs::remove_file(path);
    let mut session = TetWriterSession::create(path);
    session.push_history_event("convert", "interop");
    let dataset =
        TetDatasetWrite::row_major("a", case.tag(), &case.shape, &case.chunk_shape, case.bytes.clone())?;
    session.push_dataset(dataset.with_attr("units", "K"))?;
    session.commit()?;
    let file = ours::check(case, path, 0)?;
    let attrs = &file.metadata().ok_or("metadata is missing")?.datasets["a"].attrs;
    let known = attrs.get("units").is_some_and(|units| units == "K");
    if known && file.history().len() == 1 { Ok(()) } else { Err("the footer differs".into()) }
}
