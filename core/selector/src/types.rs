//! The static types of CEL, as the checker sees them.
//!
//! A type is a small immutable tree. `Param` is a type variable: numbers below [`FIRST_FREE`] are the letters of a
//! declaration, the others are fresh variables of one check.

use std::fmt;
use std::sync::Arc;

/// The first number of the type variables that a check invents.
pub(crate) const FIRST_FREE: u32 = 16;

/// The name of the optional type.
pub(crate) const OPTIONAL: &str = "optional_type";
/// The name of the device's object type.
pub(crate) const DEVICE: &str = "kubernetes.DRADevice";

/// A static type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    /// A value of any type, wrapped; assignable like `Dyn`.
    Any,
    Bool,
    Bytes,
    Double,
    Duration,
    /// Decided at run time.
    Dyn,
    Int,
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    Null,
    /// A scalar that may also be null: the protobuf wrapper types.
    Nullable(Arc<Type>),
    Opaque(&'static str, Arc<[Type]>),
    Param(u32),
    String,
    Struct(&'static str),
    Timestamp,
    /// The type of a type.
    Meta(Option<Arc<Type>>),
    Uint,
}

impl Type {
    pub(crate) fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    pub(crate) fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    pub(crate) fn optional(inner: Type) -> Type {
        Type::Opaque(OPTIONAL, Arc::from([inner]))
    }

    pub(crate) fn type_of(inner: Type) -> Type {
        Type::Meta(Some(Arc::new(inner)))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn | Type::Any)
    }

    /// The inner type of an optional.
    pub(crate) fn optional_inner(&self) -> Option<&Type> {
        match self {
            Type::Opaque(OPTIONAL, parameters) => parameters.first(),
            _ => None,
        }
    }

    /// The name that values of this type carry at run time.
    pub(crate) fn runtime_name(&self) -> &'static str {
        match self {
            Type::Any => "google.protobuf.Any",
            Type::Bool => "bool",
            Type::Bytes => "bytes",
            Type::Double => "double",
            Type::Duration => "google.protobuf.Duration",
            Type::Dyn | Type::Param(_) => "dyn",
            Type::Int => "int",
            Type::List(_) => "list",
            Type::Map(_, _) => "map",
            Type::Null => "null_type",
            Type::Nullable(inner) => inner.runtime_name(),
            Type::Opaque(name, _) | Type::Struct(name) => name,
            Type::String => "string",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::Meta(_) => "type",
            Type::Uint => "uint",
        }
    }

    /// Whether both are the same type; the nullable form of a scalar counts as the scalar.
    pub(crate) fn is_exactly(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Nullable(left), right) => left.is_exactly(right),
            (left, Type::Nullable(right)) => left.is_exactly(right),
            (Type::List(left), Type::List(right)) => left.is_exactly(right),
            (Type::Map(left_key, left_value), Type::Map(right_key, right_value)) => {
                left_key.is_exactly(right_key) && left_value.is_exactly(right_value)
            }
            (Type::Opaque(left, left_params), Type::Opaque(right, right_params)) => {
                left == right
                    && left_params.len() == right_params.len()
                    && left_params.iter().zip(right_params.iter()).all(|(l, r)| l.is_exactly(r))
            }
            (Type::Meta(Some(left)), Type::Meta(Some(right))) => left.is_exactly(right),
            (left, right) => left == right,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => write!(out, "any"),
            Type::Duration => write!(out, "duration"),
            Type::Timestamp => write!(out, "timestamp"),
            Type::Null => write!(out, "null"),
            Type::List(element) => write!(out, "list({element})"),
            Type::Map(key, value) => write!(out, "map({key}, {value})"),
            Type::Nullable(inner) => write!(out, "wrapper({inner})"),
            Type::Opaque(name, parameters) => {
                write!(out, "{name}")?;
                if !parameters.is_empty() {
                    let inner: Vec<_> = parameters.iter().map(ToString::to_string).collect();
                    write!(out, "({})", inner.join(", "))?;
                }
                Ok(())
            }
            Type::Meta(Some(inner)) => write!(out, "type({inner})"),
            other => write!(out, "{}", other.runtime_name()),
        }
    }
}
