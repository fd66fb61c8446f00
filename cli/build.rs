//! Embeds the shipped scenarios (a table of name and text, in the order of their names) and the commit.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    commit();
    let folder =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../scenarios/library");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of the shipped scenarios can be read")
        .map(|entry| entry.expect("its entries can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort_by_key(|file| file.file_stem().map(ToOwned::to_owned));
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

/// The commit the program is built from, "unknown" outside a repository or without git.
fn commit() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&manifest).args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let commit = git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".to_string());
    println!("cargo::rustc-env=FABSIM_COMMIT={commit}");
    // HEAD names a branch; the branch's own file changes with each commit.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name]).map(|path| Path::new(&manifest).join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}
