//! Semantic versions, as strict as the API's own parser: numbers fit 64 bits and have no leading zeros.

use std::cmp::Ordering;
use std::fmt;

/// A semantic version. Equality and order derived here are those of the written form; precedence is [`Semver::order`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Semver {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pre: Vec<Identifier>,
    build: Vec<Box<str>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Identifier {
    // Numbers come before words.
    Number(u64),
    Word(Box<str>),
}

fn number(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text:?} is not a number"));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{text:?} has a leading zero"));
    }
    text.parse().map_err(|_| format!("{text:?} does not fit 64 bits"))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl Semver {
    /// Parses `major.minor.patch-pre+build`.
    pub(crate) fn parse(text: &str) -> Result<Semver, String> {
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("{text:?} has no major, minor and patch number"));
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, Some(pre)),
            None => (rest, None),
        };
        let mut version = Semver {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            pre: Vec::new(),
            build: Vec::new(),
        };
        for word in pre.into_iter().flat_map(|pre| pre.split('.')) {
            version.pre.push(match word {
                word if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Identifier::Number(number(word)?)
                }
                word if is_word(word) => Identifier::Word(word.into()),
                word => return Err(format!("{word:?} is not a pre-release")),
            });
        }
        for word in build.into_iter().flat_map(|build| build.split('.')) {
            if !is_word(word) {
                return Err(format!("{word:?} is not build metadata"));
            }
            version.build.push(word.into());
        }
        Ok(version)
    }

    /// Parses after stripping a `v`, leading zeros, and adding missing numbers.
    pub(crate) fn parse_loosely(text: &str) -> Result<Semver, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
        for part in &mut parts {
            if part.len() > 1 {
                let trimmed = part.trim_start_matches('0');
                let keeps = trimmed.starts_with(|first: char| first.is_ascii_digit());
                *part = if keeps { trimmed.to_owned() } else { format!("0{trimmed}") };
            }
        }
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("a short version cannot have a pre-release or build metadata".to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Semver::parse(&parts.join("."))
    }

    /// Precedence; build metadata does not count.
    pub(crate) fn order(&self, other: &Semver) -> Ordering {
        (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch)).then_with(
            || match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.pre.cmp(&other.pre),
            },
        )
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (at, identifier) in self.pre.iter().enumerate() {
            write!(out, "{}", if at == 0 { '-' } else { '.' })?;
            match identifier {
                Identifier::Number(number) => write!(out, "{number}")?,
                Identifier::Word(word) => write!(out, "{word}")?,
            }
        }
        for (at, word) in self.build.iter().enumerate() {
            write!(out, "{}{word}", if at == 0 { '+' } else { '.' })?;
        }
        Ok(())
    }
}
