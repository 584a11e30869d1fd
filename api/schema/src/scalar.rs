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

    /// Brings `value` into its canonical form; leaves it alone and says no if it is not of this type.
    pub(crate) fn make_canonical(self, value: &mut Value) -> bool {
        let is_int32 = |value: &Value| value.as_i64().is_some_and(|int| i32::try_from(int).is_ok());
        let other = match self {
            Self::String => return value.is_string(),
            Self::Bool => return value.is_boolean(),
            Self::Int64 => return value.as_i64().is_some(),
            Self::Int32 => return is_int32(value),
            Self::Double => return value.is_number(),
            Self::IntOrString => return is_int32(value) || value.is_string(),
            Self::Quantity => quantity(value),
            Self::Time => time(value),
            Self::MicroTime => micro_time(value),
            Self::Bytes => bytes(value),
        };
        other.map(|text| *value = Value::String(text)).is_some()
    }
}

/// Line breaks are allowed in base64, and taken out, because people paste wrapped text.
fn bytes(value: &Value) -> Option<String> {
    let bare: String = value.as_str()?.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    STANDARD.decode(&bare).ok().map(|_| bare)
}

/// The amount as text. It is not made canonical yet, because validation can see how an amount was written.
fn quantity(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    text.parse::<Quantity>().ok().map(|_| text)
}

/// The one text in which an amount is written.
pub(crate) fn canonical_quantity(text: &str) -> Option<String> {
    text.parse::<Quantity>().ok().map(|quantity| quantity.to_string())
}

/// A time may be given with any number of decimals; seconds are kept.
fn time(value: &Value) -> Option<String> {
    Timestamp::parse(value.as_str()?).ok().map(|time| time.to_string())
}

/// A micro time must be given with exactly six decimals, as client libraries write it.
fn micro_time(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let decimals = text.split_once('.')?.1.bytes().take_while(u8::is_ascii_digit).count();
    let time = Timestamp::parse(text).ok().filter(|_| decimals == 6)?;
    Some(time.with_micros().to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::table::Scalar;

    fn canonical(scalar: Scalar, text: &str) -> Option<Value> {
        let mut value = json!(text);
        scalar.make_canonical(&mut value).then_some(value)
    }

    #[test]
    fn a_micro_time_has_exactly_six_decimals() {
        let micro = |text: &str| canonical(Scalar::MicroTime, text);
        assert_eq!(micro("2026-01-02T03:04:05.000006Z"), Some(json!("2026-01-02T03:04:05.000006Z")));
        assert_eq!(micro("2026-01-02T03:04:05Z"), None);
        assert_eq!(micro("2026-01-02T03:04:05.123Z"), None);
    }

    #[test]
    fn wrapped_base64_is_joined() {
        assert_eq!(canonical(Scalar::Bytes, "aGVs\nbG8="), Some(json!("aGVsbG8=")));
        assert_eq!(canonical(Scalar::Bytes, "not base64!"), None);
    }
}
