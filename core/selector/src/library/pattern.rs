//! Regular expressions.
//!
//! Patterns are written in the reference's dialect and run by a linear-time engine of another. This file reads the one,
//! refuses what it refuses, and writes the other: ASCII classes and boundaries, octal escapes, quoted runs and limits on
//! repetition differ.

use regex::{Regex, RegexBuilder};

use super::classes;
use crate::value::{Fault, Outcome, Value};

/// How often something may be repeated, nested repetitions multiplied.
const REPEAT_MAX: u32 = 1000;
/// How deep groups nest.
const DEPTH_MAX: usize = 1000;
/// How much memory a compiled pattern may take.
const SIZE_MAX: usize = 32 << 20;

/// Compiles a pattern, or says what is wrong with it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let mut translator = Translator { rest: pattern, out: String::new(), names: Vec::new(), last: 0 };
    translator.alternation(0)?;
    if !translator.rest.is_empty() {
        return Err("unexpected )".to_owned());
    }
    RegexBuilder::new(&translator.out)
        .size_limit(SIZE_MAX)
        .nest_limit(2 * DEPTH_MAX as u32 + 10)
        .build()
        .map_err(|error| error.to_string())
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    names: Vec<&'a str>,
    /// Where the last single item starts in the output.
    last: usize,
}

impl<'a> Translator<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn literal(&mut self, character: char) {
        self.out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
    }

    /// Reads up to a closing parenthesis or the end; returns how often its parts repeat at most.
    fn alternation(&mut self, depth: usize) -> Result<u32, String> {
        if depth > DEPTH_MAX {
            return Err("expression nests too deeply".to_owned());
        }
        let mut most = 1;
        // Where the last atom starts in the output, and how often it repeats inside.
        let mut atom: Option<(usize, u32)> = None;
        let mut repeated = false;
        while let Some(character) = self.peek() {
            if character == ')' {
                break;
            }
            if let Some(count) = self.repetition()? {
                let Some((start, inner)) = atom else {
                    return Err("missing argument to repetition operator".to_owned());
                };
                if repeated {
                    return Err("invalid nested repetition operator".to_owned());
                }
                let product = inner.saturating_mul(count.at_most());
                if count.is_counted() && product > REPEAT_MAX {
                    return Err("invalid repeat count".to_owned());
                }
                let inner_text = self.out.split_off(start);
                self.out.push_str(&format!("(?:{inner_text}){}", count.text()));
                if self.peek() == Some('?') {
                    self.next();
                    self.out.push('?');
                }
                let product = if count.is_counted() { product } else { inner };
                atom = Some((start, product));
                most = most.max(product);
                repeated = true;
                continue;
            }
            repeated = false;
            let start = self.out.len();
            self.last = start;
            let inner = self.atom(depth)?;
            match inner {
                Atom::Separator => atom = None,
                Atom::Flags => {}
                Atom::Quoted => atom = Some((self.last, 1)),
                Atom::Item(inner) => {
                    most = most.max(inner);
                    atom = Some((start, inner));
                }
            }
        }
        Ok(most)
    }

    /// A repetition operator, if one comes next.
    fn repetition(&mut self) -> Result<Option<Count>, String> {
        let count = match self.peek() {
            Some('*') => Count::Star,
            Some('+') => Count::Plus,
            Some('?') => Count::Question,
            Some('{') => return self.counted(),
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(count))
    }

    /// `{n}`, `{n,}` or `{n,m}`; anything else is a literal brace.
    fn counted(&mut self) -> Result<Option<Count>, String> {
        let Some((body, rest)) = self.rest[1..].split_once('}') else { return Ok(None) };
        let (low, high) = match body.split_once(',') {
            Some((low, high)) => (low, Some(high)),
            None => (body, None),
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let plain = |text: &str| is_number(text) && (text.len() == 1 || !text.starts_with('0'));
        if !plain(low) || high.is_some_and(|high| !high.is_empty() && !plain(high)) {
            return Ok(None);
        }
        let bad = || "invalid repeat count".to_owned();
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|count| *count <= REPEAT_MAX).ok_or_else(bad);
        let low = number(low)?;
        let high = match high {
            None => Some(low),
            Some("") => None,
            Some(high) => Some(number(high)?),
        };
        if high.is_some_and(|high| high < low) {
            return Err(bad());
        }
        self.rest = rest;
        Ok(Some(Count::Counted(low, high)))
    }

    fn atom(&mut self, depth: usize) -> Result<Atom, String> {
        let Some(character) = self.next() else { return Ok(Atom::Separator) };
        match character {
            '|' => {
                self.out.push('|');
                return Ok(Atom::Separator);
            }
            '(' => return self.group(depth),
            '[' => self.class()?,
            '.' | '^' | '$' => self.out.push(character),
            '\\' if self.rest.starts_with('Q') => {
                self.quoted();
                return Ok(Atom::Quoted);
            }
            '\\' => self.escape()?,
            other => self.literal(other),
        }
        Ok(Atom::Item(1))
    }

    fn group(&mut self, depth: usize) -> Result<Atom, String> {
        let Some(after) = self.rest.strip_prefix('?') else {
            self.out.push('(');
            return self.close(depth);
        };
        for prefix in ["P<", "<"] {
            if let Some(named) = after.strip_prefix(prefix) {
                let (name, rest) = named.split_once('>').ok_or("invalid named capture")?;
                let valid = !name.is_empty()
                    && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric());
                if !valid || self.names.contains(&name) {
                    return Err("invalid named capture".to_owned());
                }
                self.names.push(name);
                self.rest = rest;
                // Names do not matter for matching, and the other dialect is pickier about them.
                self.out.push('(');
                return self.close(depth);
            }
        }
        let end = after.find([':', ')']).ok_or("missing closing )")?;
        let flags = &after[..end];
        let letters = flags.replacen('-', "", 1);
        let known = letters.chars().all(|flag| "imsU".contains(flag));
        let bare = flags.ends_with('-');
        if !known || bare {
            return Err("invalid or unsupported Perl syntax".to_owned());
        }
        self.rest = &after[end + 1..];
        if flags.is_empty() && after[end..].starts_with(')') {
            return Ok(Atom::Flags);
        }
        self.out.push_str(&format!("(?{flags}"));
        if after[end..].starts_with(')') {
            self.out.push(')');
            return Ok(Atom::Flags);
        }
        self.out.push(':');
        self.close(depth)
    }

    fn close(&mut self, depth: usize) -> Result<Atom, String> {
        let inner = self.alternation(depth + 1)?;
        if self.next() != Some(')') {
            return Err("missing closing )".to_owned());
        }
        self.out.push(')');
        Ok(Atom::Item(inner))
    }

    /// A run of characters that all stand for themselves; a repetition after it repeats the last one.
    fn quoted(&mut self) {
        let (quoted, rest) = self.rest[1..].split_once(r"\E").unwrap_or((&self.rest[1..], ""));
        self.rest = rest;
        if quoted.is_empty() {
            self.out.push_str("(?:)");
        }
        for character in quoted.chars() {
            self.last = self.out.len();
            self.literal(character);
        }
    }

    /// An escape outside a class.
    fn escape(&mut self) -> Result<(), String> {
        let Some(character) = self.peek() else {
            return Err("trailing backslash at end of expression".to_owned());
        };
        match character {
            'A' => self.out.push_str(r"\A"),
            'z' => self.out.push_str(r"\z"),
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(r"(?-u:\B)"),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                let class = perl_class(character);
                self.out.push_str(&format!("[{class}]"));
            }
            'p' | 'P' => return self.unicode_class(),
            _ => {
                let literal = self.character_escape()?;
                self.literal(literal);
                return Ok(());
            }
        }
        self.next();
        Ok(())
    }

    /// `\pN` or `\p{Name}`; the backslash has been read.
    fn unicode_class(&mut self) -> Result<(), String> {
        let bad = || "invalid character class range".to_owned();
        let mut negated = self.next() == Some('P');
        let name = match self.next().ok_or_else(bad)? {
            '{' => {
                let (name, rest) = self.rest.split_once('}').ok_or_else(bad)?;
                self.rest = rest;
                name.to_owned()
            }
            letter => letter.to_string(),
        };
        let plain = match name.strip_prefix('^') {
            Some(plain) => {
                negated = !negated;
                plain
            }
            None => &name,
        };
        if !classes::is_known(plain) {
            return Err(bad());
        }
        self.out.push_str(&format!(r"\{}{{{plain}}}", if negated { 'P' } else { 'p' }));
        Ok(())
    }

    /// An escape that stands for one character; the backslash has been read.
    fn character_escape(&mut self) -> Result<char, String> {
        let bad = || "invalid escape sequence".to_owned();
        let character = self.next().ok_or_else(bad)?;
        Ok(match character {
            'a' => '\u{7}',
            'f' => '\u{c}',
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'v' => '\u{b}',
            'x' => return self.hex_escape(),
            '1'..='7' if !matches!(self.peek(), Some('0'..='7')) => return Err(bad()),
            '0'..='7' => {
                let mut code = character.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|digit| digit.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    self.next();
                }
                char::from_u32(code).ok_or_else(bad)?
            }
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => other,
            _ => return Err(bad()),
        })
    }

    fn hex_escape(&mut self) -> Result<char, String> {
        let bad = || "invalid escape sequence".to_owned();
        let digits = if let Some(after) = self.rest.strip_prefix('{') {
            let (digits, rest) = after.split_once('}').ok_or_else(bad)?;
            self.rest = rest;
            digits
        } else {
            let digits = self.rest.get(..2).ok_or_else(bad)?;
            self.rest = &self.rest[2..];
            digits
        };
        let valid =
            !digits.is_empty() && digits.len() < 9 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = u32::from_str_radix(digits, 16).ok().filter(|_| valid).ok_or_else(bad)?;
        // A surrogate is no text, so it matches nothing; the reference accepts it all the same.
        if code > 0x10_ffff { Err(bad()) } else { Ok(char::from_u32(code).unwrap_or('\u{fffd}')) }
    }

    /// A class; the opening bracket has been read.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.peek() == Some('^') {
            self.next();
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some(character) = self.peek() else { return Err("missing closing ]".to_owned()) };
            if character == ']' && !first {
                self.next();
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:") && self.posix_class()? {
                continue;
            }
            if let Some(after) = self.rest.strip_prefix('\\') {
                match after.chars().next() {
                    Some(letter @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) => {
                        self.rest = &after[1..];
                        self.out.push_str(&format!("[{}]", perl_class(letter)));
                        continue;
                    }
                    Some('p' | 'P') => {
                        self.rest = after;
                        self.unicode_class()?;
                        continue;
                    }
                    _ => {}
                }
            }
            self.range()?;
        }
    }

    /// `[:alpha:]` inside a class; false if it is none.
    fn posix_class(&mut self) -> Result<bool, String> {
        let Some(end) = self.rest[2..].find(":]") else { return Ok(false) };
        let name = &self.rest[2..2 + end];
        let plain = name.strip_prefix('^').unwrap_or(name);
        let known = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        if !known.contains(&plain) {
            return Err("invalid character class range".to_owned());
        }
        self.out.push_str(&format!("[:{name}:]"));
        self.rest = &self.rest[2 + end + 2..];
        Ok(true)
    }

    /// One character of a class, or a range of them.
    fn range(&mut self) -> Result<(), String> {
        let low = self.class_character()?;
        let mut high = low;
        if let Some(after) = self.rest.strip_prefix('-')
            && !after.starts_with(']')
            && !after.is_empty()
        {
            self.rest = after;
            high = self.class_character()?;
            if high < low {
                return Err("invalid character class range".to_owned());
            }
        }
        self.out.push_str(&format!("\\x{{{:x}}}", low as u32));
        if high != low {
            self.out.push_str(&format!("-\\x{{{:x}}}", high as u32));
        }
        Ok(())
    }

    fn class_character(&mut self) -> Result<char, String> {
        match self.next() {
            Some('\\') => self.character_escape(),
            Some(character) => Ok(character),
            None => Err("missing closing ]".to_owned()),
        }
    }
}

enum Atom {
    /// A `|`: what follows has nothing before it.
    Separator,
    /// A change of flags, which is not an item of its own.
    Flags,
    /// Several characters, of which only the last can be repeated.
    Quoted,
    /// Something that can be repeated, and how often its parts repeat.
    Item(u32),
}

enum Count {
    Star,
    Plus,
    Question,
    Counted(u32, Option<u32>),
}

impl Count {
    fn at_most(&self) -> u32 {
        match self {
            Count::Counted(low, high) => high.unwrap_or(*low).max(1),
            _ => 1,
        }
    }

    fn is_counted(&self) -> bool {
        matches!(self, Count::Counted(_, _))
    }

    fn text(&self) -> String {
        match self {
            Count::Star => "*".to_owned(),
            Count::Plus => "+".to_owned(),
            Count::Question => "?".to_owned(),
            Count::Counted(low, None) => format!("{{{low},}}"),
            Count::Counted(low, Some(high)) => format!("{{{low},{high}}}"),
        }
    }
}

/// The ASCII classes, without brackets.
fn perl_class(letter: char) -> &'static str {
    match letter {
        'd' => "0-9",
        'D' => "^0-9",
        's' => r"\t\n\x0c\r\x20",
        'S' => r"^\t\n\x0c\r\x20",
        'w' => "0-9A-Za-z_",
        _ => "^0-9A-Za-z_",
    }
}

/// What can be done with a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Search {
    Matches,
    Find,
    FindAll,
}

/// Applies a compiled pattern; `text` is the first argument and `limit` the last, if there is one.
pub(crate) fn search<'a>(kind: Search, pattern: &Regex, text: &str, limit: Option<i64>) -> Outcome<'a> {
    Ok(match kind {
        Search::Matches => Value::Bool(pattern.is_match(text)),
        Search::Find => Value::text(pattern.find(text).map_or("", |found| found.as_str())),
        Search::FindAll => {
            let most = limit.filter(|limit| *limit >= 0).map_or(usize::MAX, |limit| limit as usize);
            let found = pattern.find_iter(text).take(most);
            Value::list(found.map(|found| Value::text(found.as_str())).collect())
        }
    })
}

/// Applies a pattern that is only known now.
pub(crate) fn search_dynamic<'a>(kind: Search, args: &[Value<'a>]) -> Outcome<'a> {
    let (Value::String(text), Value::String(pattern)) = (&args[0], &args[1]) else {
        return Err(Fault::no_such_overload());
    };
    let limit = match args.get(2) {
        None => None,
        Some(Value::Int(limit)) => Some(*limit),
        Some(_) => return Err(Fault::no_such_overload()),
    };
    let compiled = compile(pattern).map_err(Fault::invalid)?;
    search(kind, &compiled, text, limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(pattern: &str, text: &str) -> Option<String> {
        let compiled = compile(pattern).expect("the pattern is accepted");
        compiled.find(text).map(|found| found.as_str().to_owned())
    }

    #[test]
    fn classes_and_boundaries_are_ascii() {
        assert_eq!(finds(r"\d+", "٣3"), Some("3".to_owned()));
        assert_eq!(finds(r"\w+", "żółw-ab_1"), Some("w".to_owned()));
        assert_eq!(finds(r"\s", "\u{b}"), None);
        assert_eq!(finds(r"\bab\b", "żab ab"), Some("ab".to_owned()));
        assert_eq!(finds(r"[[:alpha:]]+", "éa"), Some("a".to_owned()));
        assert_eq!(finds(r"\pL+", "1ża"), Some("ża".to_owned()));
        assert_eq!(finds(r"[^\p{Greek}]", "αb"), Some("b".to_owned()));
    }

    #[test]
    fn escapes_and_quoted_runs_stand_for_themselves() {
        assert_eq!(finds(r"\Qa.b*\E+", "a.b**"), Some("a.b**".to_owned()));
        assert_eq!(finds(r"\101\x42\x{43}", "ABC"), Some("ABC".to_owned()));
        assert_eq!(finds(r"[\]a-c-]+", "x]b-"), Some("]b-".to_owned()));
        assert_eq!(finds(r"a{,2}", "a{,2}"), Some("a{,2}".to_owned()));
        assert_eq!(finds("(?)a", "a"), Some("a".to_owned()));
        assert_eq!(finds("(?P<n>a)(?<m>b)", "ab"), Some("ab".to_owned()));
        assert_eq!(finds("(?i)AB(?-i)c", "abc"), Some("abc".to_owned()));
    }

    #[test]
    fn what_the_reference_refuses_is_refused() {
        for pattern in [
            "(",
            ")",
            "[",
            "*",
            "a**",
            "a{2}{3}",
            "a{1001}",
            "(a{40}){40}",
            r"\1",
            r"\Z",
            r"\C",
            r"\8",
            r"\p{Nope}",
            "[z-a]",
            "[a-\\d]",
            "(?=a)",
            "(?<=a)",
            "(?x)a",
            "(?i-)",
            "(?P<n>a)(?P<n>b)",
            r"\x{110000}",
            "\\",
            "[[:nope:]]",
            "(?P=n)",
        ] {
            assert!(compile(pattern).is_err(), "{pattern} is accepted");
        }
    }
}
