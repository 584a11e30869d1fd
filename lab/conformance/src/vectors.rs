//! Reads vector files: one JSON object a line, plain or gzip.
//!
//! Invariant: a line is either a case with a name, or an error that says where it stands. Nothing is skipped silently.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

use anyhow::Context;
use flate2::read::MultiGzDecoder;
use serde_json::Value;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The cases of a file, in order.
pub fn open(path: &Path) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Case>>> {
    let shown = path.display().to_string();
    let mut file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
    let mut magic = Vec::new();
    file.by_ref().take(2).read_to_end(&mut magic).with_context(|| format!("cannot read {shown}"))?;
    file.rewind().with_context(|| format!("cannot read {shown}"))?;
    // The name of a file may lie about its content; the first bytes do not.
    let reader: Box<dyn Read> =
        if magic == GZIP_MAGIC { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let cases = BufReader::new(reader).lines().enumerate().filter_map(move |(index, line)| {
        let place = || format!("{shown}, line {}", index + 1);
        match line {
            Ok(line) if line.trim().is_empty() => None,
            Ok(line) => Some(Case::parse(&line).with_context(place)),
            Err(error) => Some(Err(error).with_context(place)),
        }
    });
    Ok(cases)
}

/// One recorded question with its answer.
#[derive(Clone, Debug)]
pub struct Case {
    /// Family and number.
    pub name: String,
    /// The whole line, `expect` included.
    pub content: Value,
}

impl Case {
    fn parse(line: &str) -> anyhow::Result<Self> {
        let content: Value = serde_json::from_str(line).context("not a JSON object")?;
        let name = content.get("name").and_then(Value::as_str).context("the case has no name")?.to_owned();
        Ok(Self { name, content })
    }
}
