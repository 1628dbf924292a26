//! `tess tet`, and conversions from tet to tet.

use std::path::{Path, PathBuf};

use crate::support::{fine, json_of, path, tess};

/// A one-dimensional npy file of doubles.
fn npy(folder: &Path, name: &str, values: &[f64]) -> PathBuf {
    let file = folder.join(name);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}\n", values.len());
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(&file, bytes).unwrap();
    file
}

fn values(uri: &str) -> Vec<String> {
    fine(&["cat", uri, "--columns", "value", "--as", "csv"]).lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn datasets_of_other_shapes_are_added_extended_renamed_removed_and_kept_by_a_conversion() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (short, long) =
        (npy(folder.path(), "short.npy", &[1.5, 2.5]), npy(folder.path(), "long.npy", &[3.5, 4.5, 5.5]));
    let tet = at("x.tet");
    fine(&["convert", path(&short), path(&tet)]);
    fine(&["tet", "add", path(&tet), path(&long), "--set", "codec=zstd", "--set", "chunk=2"]);
    let first = json_of(&["info", path(&tet)])["tables"][0]["name"].as_str().unwrap().to_owned();
    assert_eq!(tess(&["tet", "add", path(&tet), path(&long)]).status.code(), Some(2), "the name is taken");
    fine(&["tet", "append", &format!("{}#long", tet.display()), path(&short), "--axis", "i0"]);
    assert_eq!(values(&format!("{}#long", tet.display())), ["3.5", "4.5", "5.5", "1.5", "2.5"]);
    assert_eq!(values(&format!("{}#{first}", tet.display())), ["1.5", "2.5"]);
    let copy = at("copy.tet");
    fine(&["convert", path(&tet), path(&copy)]);
    let chunks = |file: &Path| {
        let info = json_of(&["info", path(file), "--chunks", "-n", "0"]);
        let chunks = info["chunks"].as_array().unwrap().clone();
        chunks
            .iter()
            .map(|c| (c["dataset"].to_string(), c["codec"].to_string(), c["stored_bytes"].to_string()))
            .collect::<Vec<_>>()
    };
    assert_eq!(chunks(&copy), chunks(&tet));
    let raw = at("raw.tet");
    let report = json_of(&["convert", path(&tet), path(&raw), "--set", "codec=raw"]);
    assert!(report["metadata"]["lost"].to_string().contains("the codec of 'long', now raw"), "{report}");
    assert!(chunks(&raw).iter().all(|(_, codec, _)| codec == "\"raw\""));
    fine(&["tet", "rename", path(&tet), "long", "l"]);
    fine(&["tet", "remove", path(&tet), &first]);
    assert_eq!(json_of(&["info", path(&tet)])["tables"].as_array().unwrap().len(), 1);
    assert_eq!(values(path(&tet)).len(), 5);
    fine(&["verify", "--deep", path(&tet)]);
    assert_eq!(tess(&["tet", "remove", path(&tet), "none"]).status.code(), Some(2));
}
