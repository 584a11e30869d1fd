//! Text to tokens.
//!
//! The longest match wins, as in the reference's generated lexer; white space and comments vanish. Offsets count code
//! points, which is what error columns are made of.

use crate::error::Mistake;

/// What a token is. Text is a range of bytes in the expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    Greater,
    GreaterEquals,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Not,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    /// A name in back-ticks.
    Escaped,
    End,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// The first byte in the expression.
    pub(crate) start: usize,
    /// One past the last byte.
    pub(crate) stop: usize,
    /// The first code point.
    pub(crate) offset: u32,
}

/// Splits `expression` into tokens, the last of which is `End`.
pub(crate) fn tokens(expression: &str) -> Result<Vec<Token>, Mistake> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut offset = 0u32;
    let bytes = expression.as_bytes();
    while at < bytes.len() {
        let skipped = blank(bytes, at);
        if skipped > 0 {
            offset += code_points(&expression[at..at + skipped]);
            at += skipped;
            continue;
        }
        let Some((kind, length)) = next(bytes, at) else {
            return Err(unexpected(expression, at, offset));
        };
        tokens.push(Token { kind, start: at, stop: at + length, offset });
        offset += code_points(&expression[at..at + length]);
        at += length;
    }
    tokens.push(Token { kind: Kind::End, start: at, stop: at, offset });
    Ok(tokens)
}

fn code_points(text: &str) -> u32 {
    text.chars().count() as u32
}

fn unexpected(expression: &str, at: usize, offset: u32) -> Mistake {
    let character = expression[at..].chars().next().unwrap_or(' ');
    let mistake = Mistake::syntax(offset, format!("unexpected {character:?}"));
    match character {
        '=' => mistake.hint("compare with =="),
        '&' => mistake.hint("combine conditions with &&"),
        '|' => mistake.hint("combine conditions with ||"),
        '"' | '\'' => {
            Mistake::syntax(offset, "this string does not end, or contains an unknown escape sequence")
                .hint("close the quote; write a backslash as \\\\")
        }
        '#' => mistake.hint("comments start with //"),
        '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' => mistake.hint("use straight quotes"),
        '`' => mistake.hint("a name in back-ticks has letters, digits, _ . - / and spaces"),
        _ => mistake,
    }
}

/// How many bytes of white space or comment start at `at`.
fn blank(bytes: &[u8], at: usize) -> usize {
    if bytes[at..].starts_with(b"//") {
        return bytes[at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - at);
    }
    bytes[at..].iter().take_while(|byte| matches!(byte, b'\t' | b' ' | b'\r' | b'\n' | 0x0c)).count()
}

/// The token that starts at `at` and its length in bytes.
fn next(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
    let rest = &bytes[at..];
    let first = rest[0];
    if let Some(length) = string_length(rest) {
        return Some((Kind::String, length));
    }
    if matches!(first, b'b' | b'B')
        && let Some(length) = string_length(&rest[1..])
    {
        return Some((Kind::Bytes, length + 1));
    }
    if first.is_ascii_alphabetic() || first == b'_' {
        return Some(word(rest));
    }
    if let Some(number) = number(rest) {
        return Some(number);
    }
    if first == b'`' {
        return escaped(rest);
    }
    punctuation(rest)
}

fn word(rest: &[u8]) -> (Kind, usize) {
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let kind = match &rest[..length] {
        b"in" => Kind::In,
        b"true" => Kind::True,
        b"false" => Kind::False,
        b"null" => Kind::Null,
        _ => Kind::Ident,
    };
    (kind, length)
}

fn escaped(rest: &[u8]) -> Option<(Kind, usize)> {
    let inner = rest[1..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/' | b' '))
        .count();
    (inner > 0 && rest.get(inner + 1) == Some(&b'`')).then_some((Kind::Escaped, inner + 2))
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The length of an exponent, or 0.
fn exponent(bytes: &[u8]) -> usize {
    if !matches!(bytes.first(), Some(b'e' | b'E')) {
        return 0;
    }
    let sign = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
    match digits(&bytes[1 + sign..]) {
        0 => 0,
        count => 1 + sign + count,
    }
}

fn number(rest: &[u8]) -> Option<(Kind, usize)> {
    let whole = digits(rest);
    let fraction = match rest.get(whole) {
        Some(b'.') => digits(&rest[whole + 1..]),
        _ => 0,
    };
    if fraction > 0 {
        let length = whole + 1 + fraction;
        return Some((Kind::Float, length + exponent(&rest[length..])));
    }
    if whole == 0 {
        return None;
    }
    if rest.starts_with(b"0x") {
        let hex = rest[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if hex > 0 {
            let unsigned = matches!(rest.get(2 + hex), Some(b'u' | b'U'));
            let kind = if unsigned { Kind::Uint } else { Kind::Int };
            return Some((kind, 2 + hex + usize::from(unsigned)));
        }
    }
    match exponent(&rest[whole..]) {
        0 if matches!(rest.get(whole), Some(b'u' | b'U')) => Some((Kind::Uint, whole + 1)),
        0 => Some((Kind::Int, whole)),
        length => Some((Kind::Float, whole + length)),
    }
}

fn punctuation(rest: &[u8]) -> Option<(Kind, usize)> {
    let two = match rest.get(..2) {
        Some(b"==") => Some(Kind::Equals),
        Some(b"!=") => Some(Kind::NotEquals),
        Some(b"<=") => Some(Kind::LessEquals),
        Some(b">=") => Some(Kind::GreaterEquals),
        Some(b"&&") => Some(Kind::And),
        Some(b"||") => Some(Kind::Or),
        _ => None,
    };
    if let Some(kind) = two {
        return Some((kind, 2));
    }
    let one = match rest[0] {
        b'<' => Kind::Less,
        b'>' => Kind::Greater,
        b'[' => Kind::LeftBracket,
        b']' => Kind::RightBracket,
        b'{' => Kind::LeftBrace,
        b'}' => Kind::RightBrace,
        b'(' => Kind::LeftParen,
        b')' => Kind::RightParen,
        b'.' => Kind::Dot,
        b',' => Kind::Comma,
        b'-' => Kind::Minus,
        b'!' => Kind::Not,
        b'?' => Kind::Question,
        b':' => Kind::Colon,
        b'+' => Kind::Plus,
        b'*' => Kind::Star,
        b'/' => Kind::Slash,
        b'%' => Kind::Percent,
        _ => return None,
    };
    Some((one, 1))
}

/// The length of the string literal that starts here, if one does.
fn string_length(rest: &[u8]) -> Option<usize> {
    let raw = usize::from(matches!(rest.first(), Some(b'r' | b'R')));
    let quote = match rest.get(raw) {
        Some(&quote @ (b'"' | b'\'')) => quote,
        _ => return None,
    };
    let body = raw + 1;
    if rest.get(body) == Some(&quote) && rest.get(body + 1) == Some(&quote) {
        // Three quotes; if they never close, the first two are an empty string after all.
        return Some(triple(&rest[body + 2..], quote, raw > 0).map_or(body + 1, |inner| body + 2 + inner));
    }
    single(&rest[body..], quote, raw > 0).map(|inner| body + inner)
}

/// The length of a one-line string's rest, with the closing quote.
fn single(rest: &[u8], quote: u8, raw: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        match *rest.get(at)? {
            byte if byte == quote => return Some(at + 1),
            b'\n' | b'\r' => return None,
            b'\\' if !raw => at += escape_length(&rest[at..])?,
            _ => at += 1,
        }
    }
}

/// The length of a three-quote string's rest, with the closing quotes.
fn triple(rest: &[u8], quote: u8, raw: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        if rest.get(at..at + 3).is_some_and(|three| three.iter().all(|&byte| byte == quote)) {
            return Some(at + 3);
        }
        match *rest.get(at)? {
            b'\\' if !raw => at += escape_length(&rest[at..])?,
            _ => at += 1,
        }
    }
}

/// The length of an escape sequence.
fn escape_length(rest: &[u8]) -> Option<usize> {
    let hex = |count: usize| {
        rest.get(2..2 + count).filter(|run| run.iter().all(u8::is_ascii_hexdigit)).map(|_| 2 + count)
    };
    match rest.get(1)? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Some(2),
        b'x' | b'X' => hex(2),
        b'u' => hex(4),
        b'U' => hex(8),
        b'0'..=b'3' => rest.get(2..4).filter(|run| run.iter().all(|b| matches!(b, b'0'..=b'7'))).map(|_| 4),
        _ => None,
    }
}
