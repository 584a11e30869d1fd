//! The generated code is what the files below `proto` say.
//!
//! `REGENERATE=1 cargo test -p plugin --test generated` writes it anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Each file below `proto`, and the package that it describes.
const PROTOS: [(&str, &str); 5] = [
    ("registration", "pluginregistration"),
    ("dra/v1", "k8s.io.kubelet.pkg.apis.dra.v1"),
    ("dra/v1beta1", "k8s.io.kubelet.pkg.apis.dra.v1beta1"),
    ("health/v1", "v1"),
    ("health/v1alpha1", "v1alpha1"),
];

/// Names that the protocol gives and that ours would not be.
const NAMES: [&str; 4] = ["struct InfoRequest", "struct PluginInfo", "struct GetInfoSvc", "fn get_info"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What the code should be, by file name.
fn made_anew() -> BTreeMap<String, String> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let protos = PROTOS.map(|(file, _)| format!("{file}.proto"));
    let descriptors = protox::compile(protos, [folder("proto")]).expect("good files");
    tonic_prost_build::configure()
        .btree_map(".")
        .emit_rerun_if_changed(false)
        .out_dir(out)
        .compile_fds(descriptors)
        .expect("code can be made of them");
    let read = |(file, package): (&str, &str)| {
        let code = fs::read_to_string(out.join(format!("{package}.rs"))).expect("it was written just now");
        (format!("{file}.rs"), dressed(file, &code))
    };
    PROTOS.into_iter().map(read).collect()
}

/// Code as the workspace wants it: with a head, and with a word for names that are not ours.
fn dressed(file: &str, code: &str) -> String {
    let mut text = format!("//! Made of `proto/{file}.proto`; do not edit.\n\n");
    for line in code.lines() {
        if NAMES.iter().any(|name| line.contains(name)) {
            text.push_str("// tidy: allow(name): the protocol's own word\n");
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[test]
fn the_generated_code_is_what_the_files_say() {
    for (file, text) in made_anew() {
        let path = folder("src/generated").join(&file);
        if env::var_os("REGENERATE").is_some() {
            fs::write(&path, &text).expect("the folder can be written to");
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        let hint = "hint: REGENERATE=1 cargo test -p plugin --test generated";
        assert!(committed == text, "{file} is not what proto says; {hint}");
    }
}
