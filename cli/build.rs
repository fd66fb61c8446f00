//! Embeds the shipped scenarios: a table of name and text, in the order of their names.

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let folder =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../scenarios/library");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of the shipped scenarios can be read")
        .map(|entry| entry.expect("its entries can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let mut table = String::from("&[\n");
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_stem().expect("it has a name").to_string_lossy();
        let path = file.canonicalize().expect("it exists");
        writeln!(table, "    ({name:?}, include_str!({path:?})),").expect("text grows");
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("library.rs");
    fs::write(out, table).expect("the output folder can be written");
}
