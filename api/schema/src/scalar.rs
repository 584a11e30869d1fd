//! Single values: what text a quantity or a time may have, and its one canonical form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::quantity::Quantity;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::table::Scalar;

impl Scalar {
    /// The value that stands for "nothing was said".
    pub fn zero(self) -> Value {
        match self {
            Self::String | Self::Bytes => json!(""),
            Self::Bool => json!(false),
            Self::Int32 | Self::Int64 | Self::Double | Self::IntOrString => json!(0),
            Self::Quantity => json!("0"),
            Self::Time | Self::MicroTime => Value::Null,
        }
    }

    /// What a reader would call the type.
    pub fn label(self) -> &'static str {
        match self {
            Self::String => "text",
            Self::Bool => "true or false",
            Self::Int32 => "a 32-bit integer",
            Self::Int64 => "a 64-bit integer",
            Self::Double => "a number",
            Self::Quantity => "a quantity such as 500m or 2Gi",
            Self::Time => "a time such as 2026-01-02T03:04:05Z",
            Self::MicroTime => "a time with six decimals such as 2026-01-02T03:04:05.000006Z",
            Self::Bytes => "base64 text",
            Self::IntOrString => "a 32-bit integer or text",
        }
    }

    /// The canonical form of `value`, or `None` if it is not of this type.
    pub(crate) fn canonical(self, value: Value) -> Option<Value> {
        match self {
            Self::String => value.is_string().then_some(value),
            Self::Bool => value.is_boolean().then_some(value),
            Self::Int64 => value.as_i64().map(|_| value),
            Self::Int32 => value.as_i64().is_some_and(|int| i32::try_from(int).is_ok()).then_some(value),
            Self::Double => value.is_number().then_some(value),
            Self::IntOrString => {
                let fits = value.as_i64().is_some_and(|int| i32::try_from(int).is_ok());
                (fits || value.is_string()).then_some(value)
            }
            Self::Quantity => quantity(value),
            Self::Time => time(&value),
            Self::MicroTime => micro_time(&value),
            Self::Bytes => {
                let text = value.as_str()?;
                // Line breaks are allowed in base64, and taken out, because people paste wrapped text.
                let bare: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
                STANDARD.decode(&bare).ok().map(|_| Value::String(bare))
            }
        }
    }
}

/// The amount as text. It is not made canonical yet, because validation can see how an amount was written.
fn quantity(value: Value) -> Option<Value> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    text.parse::<Quantity>().ok().map(|_| Value::String(text))
}

/// The one text in which an amount is written.
pub(crate) fn canonical_quantity(text: &str) -> Option<String> {
    text.parse::<Quantity>().ok().map(|quantity| quantity.to_string())
}

/// A time may be given with any number of decimals; seconds are kept.
fn time(value: &Value) -> Option<Value> {
    Timestamp::parse(value.as_str()?).ok().map(|time| Value::String(time.to_string()))
}

/// A micro time must be given with exactly six decimals, as client libraries write it.
fn micro_time(value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    let decimals = text.split_once('.')?.1.bytes().take_while(u8::is_ascii_digit).count();
    let time = Timestamp::parse(text).ok().filter(|_| decimals == 6)?;
    Some(Value::String(time.with_micros().to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::table::Scalar;

    #[test]
    fn a_micro_time_has_exactly_six_decimals() {
        let micro = |text: &str| Scalar::MicroTime.canonical(json!(text));
        assert_eq!(micro("2026-01-02T03:04:05.000006Z"), Some(json!("2026-01-02T03:04:05.000006Z")));
        assert_eq!(micro("2026-01-02T03:04:05Z"), None);
        assert_eq!(micro("2026-01-02T03:04:05.123Z"), None);
    }

    #[test]
    fn wrapped_base64_is_joined() {
        assert_eq!(Scalar::Bytes.canonical(json!("aGVs\nbG8=")), Some(json!("aGVsbG8=")));
        assert_eq!(Scalar::Bytes.canonical(json!("not base64!")), None);
    }
}
