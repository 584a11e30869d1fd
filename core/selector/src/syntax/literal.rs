//! The values of literals.

use std::sync::Arc;

use crate::error::{CompileErrorKind, Mistake, SyntaxMistake};
use crate::syntax::tree::Literal;

fn mistake(offset: u32, message: &str) -> Mistake {
    Mistake::new(CompileErrorKind::Syntax(SyntaxMistake::Literal), offset, message)
}

/// An integer; `negative` says that a minus sign belongs to it.
pub(crate) fn int(text: &str, negative: bool, offset: u32) -> Result<Literal, Mistake> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    let signed = if negative { format!("-{digits}") } else { digits.to_owned() };
    i64::from_str_radix(&signed, radix).map(Literal::Int).map_err(|_| {
        mistake(offset, "this integer does not fit 64 bits").hint("integers go from -2^63 to 2^63-1")
    })
}

/// An unsigned integer, with its `u`.
pub(crate) fn uint(text: &str, offset: u32) -> Result<Literal, Mistake> {
    let text = &text[..text.len() - 1];
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    u64::from_str_radix(digits, radix)
        .map(Literal::Uint)
        .map_err(|_| mistake(offset, "this unsigned integer does not fit 64 bits"))
}

/// A floating-point number.
pub(crate) fn double(text: &str, negative: bool, offset: u32) -> Result<Literal, Mistake> {
    let value: f64 = text.parse().map_err(|_| mistake(offset, "this number is not valid"))?;
    if value.is_infinite() {
        return Err(mistake(offset, "this number is too large for a double"));
    }
    Ok(Literal::Double(if negative { -value } else { value }))
}

/// A string, with its quotes and prefix.
pub(crate) fn string(text: &str, offset: u32) -> Result<Literal, Mistake> {
    let bytes = unescape(text, false, offset)?;
    let text = String::from_utf8(bytes).map_err(|_| mistake(offset, "this string is not valid UTF-8"))?;
    Ok(Literal::String(Arc::from(text)))
}

/// A byte string, with its quotes and prefix.
pub(crate) fn bytes(text: &str, offset: u32) -> Result<Literal, Mistake> {
    Ok(Literal::Bytes(Arc::from(unescape(&text[1..], true, offset)?)))
}

/// Removes the quotes and resolves escape sequences; the lexer has checked their shape.
fn unescape(text: &str, is_bytes: bool, offset: u32) -> Result<Vec<u8>, Mistake> {
    let normalized = text.replace("\r\n", "\n").replace('\r', "\n");
    let (raw, quoted) = match normalized.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, normalized.as_str()),
    };
    let width =
        if quoted.len() >= 6 && (quoted.starts_with("\"\"\"") || quoted.starts_with("'''")) { 3 } else { 1 };
    let body = &quoted[width..quoted.len() - width];
    if raw || !body.contains('\\') {
        return Ok(body.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let used = escape(&rest[at..], is_bytes, offset, &mut out)?;
        rest = &rest[at + used..];
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// Appends what the escape sequence at the start of `rest` stands for; returns its length.
fn escape(rest: &str, is_bytes: bool, offset: u32, out: &mut Vec<u8>) -> Result<usize, Mistake> {
    let letter = rest.as_bytes().get(1).copied().unwrap_or(b' ');
    let simple = match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' | b'\'' | b'"' | b'`' | b'?' => letter,
        _ => 0,
    };
    if simple != 0 {
        out.push(simple);
        return Ok(2);
    }
    let (from, count, radix) = match letter {
        b'x' | b'X' => (2, 2, 16),
        b'u' if !is_bytes => (2, 4, 16),
        b'U' if !is_bytes => (2, 8, 16),
        b'0'..=b'3' => (1, 3, 8),
        _ => {
            return Err(mistake(offset, "this escape sequence is not allowed here")
                .hint("in bytes, use \\x41 or \\101"));
        }
    };
    let code = rest
        .get(from..from + count)
        .and_then(|digits| u32::from_str_radix(digits, radix).ok())
        .ok_or_else(|| mistake(offset, "this escape sequence is not complete"))?;
    if is_bytes {
        out.push(code as u8);
    } else {
        let character = char::from_u32(code)
            .ok_or_else(|| mistake(offset, "this escape sequence is not a Unicode character"))?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(from + count)
}
