//! What the language declares: functions with their overloads, and names.
//!
//! The tables are text, one overload a line, so that they read like the language's own documentation. They are parsed
//! once; a broken line is a bug that the first test finds.

mod kubernetes;
mod lists;
mod optional;
mod standard;
mod strings;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::types::{DEVICE, OPTIONAL, Type};

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    /// Called as `receiver.function()`; the receiver is the first argument.
    pub(crate) member: bool,
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    /// How many type variables the signature has.
    pub(crate) params: u32,
}

/// A function and its overloads, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
}

/// Which parts of the language an expression may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Environment {
    /// Attributes can be lists: their static type is `dyn`, and `includes` exists.
    pub list_attributes: bool,
    /// `device.allowMultipleAllocations` exists.
    pub multiple_allocations: bool,
}

impl Environment {
    /// Everything, as for expressions that are already stored.
    #[must_use]
    pub fn all() -> Environment {
        Environment { list_attributes: true, multiple_allocations: true }
    }

    /// The static type of an attribute's value.
    pub(crate) fn attribute_type(self) -> Type {
        if self.list_attributes { Type::Dyn } else { Type::Any }
    }

    /// The type of a field of the device.
    pub(crate) fn device_field(self, name: &str) -> Option<Type> {
        match name {
            "driver" => Some(Type::String),
            "attributes" => Some(Type::map(Type::String, Type::map(Type::String, self.attribute_type()))),
            "capacity" => Some(Type::map(Type::String, Type::map(Type::String, Type::Struct(QUANTITY)))),
            "allowMultipleAllocations" if self.multiple_allocations => Some(Type::Bool),
            _ => None,
        }
    }

    /// A function by its name, without a leading dot.
    pub(crate) fn function(self, name: &str) -> Option<&'static Function> {
        if name == "includes" && !self.list_attributes {
            return None;
        }
        FUNCTIONS.get(name)
    }

    /// The names of all functions that can be called as members or globally.
    pub(crate) fn function_names(self) -> impl Iterator<Item = &'static str> {
        FUNCTIONS.keys().copied().filter(move |name| *name != "includes" || self.list_attributes)
    }

    /// The type of a global name.
    pub(crate) fn global(self, name: &str) -> Option<Type> {
        if name == "device" {
            return Some(Type::Struct(DEVICE));
        }
        type_named(name).map(Type::type_of)
    }
}

/// The name of the quantity type.
pub(crate) const QUANTITY: &str = "kubernetes.Quantity";
/// The name of the version type.
pub(crate) const SEMVER: &str = "kubernetes.Semver";
/// The name of the URL type.
pub(crate) const URL: &str = "kubernetes.URL";
/// The name of the format type.
pub(crate) const FORMAT: &str = "kubernetes.NamedFormat";
/// The name of the address type.
pub(crate) const IP: &str = "net.IP";
/// The name of the network type.
pub(crate) const CIDR: &str = "net.CIDR";

/// The type that a global name stands for.
pub(crate) fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "google.protobuf.Duration" => Type::Duration,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" | "google.protobuf.NullValue" => Type::Null,
        "string" => Type::String,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "type" => Type::Meta(None),
        "uint" => Type::Uint,
        "google.protobuf.Any" => Type::Any,
        "google.protobuf.Struct" => Type::map(Type::String, Type::Dyn),
        "google.protobuf.ListValue" => Type::list(Type::Dyn),
        "google.protobuf.Value" => Type::Dyn,
        OPTIONAL => Type::Opaque(OPTIONAL, Arc::from([Type::Dyn])),
        IP => Type::Opaque(IP, Arc::from([])),
        CIDR => Type::Opaque(CIDR, Arc::from([])),
        DEVICE => Type::Struct(DEVICE),
        wrapper => Type::Nullable(Arc::new(wrapped(wrapper)?)),
    })
}

/// The scalar inside a protobuf wrapper message.
fn wrapped(name: &str) -> Option<Type> {
    Some(match name.strip_prefix("google.protobuf.")? {
        "BoolValue" => Type::Bool,
        "BytesValue" => Type::Bytes,
        "DoubleValue" | "FloatValue" => Type::Double,
        "Int32Value" | "Int64Value" => Type::Int,
        "UInt32Value" | "UInt64Value" => Type::Uint,
        "StringValue" => Type::String,
        _ => return None,
    })
}

static FUNCTIONS: LazyLock<BTreeMap<&'static str, Function>> = LazyLock::new(|| {
    let mut functions = BTreeMap::new();
    for table in [standard::TABLE, optional::TABLE, strings::TABLE, lists::TABLE, kubernetes::TABLE] {
        for line in table.lines() {
            let (name, overload) = parse_line(line).expect("every line of a table is a declaration");
            let function: &mut Function =
                functions.entry(name).or_insert_with(|| Function { name, overloads: Vec::new() });
            function.overloads.push(overload);
        }
    }
    functions
});

/// `function overload receiver.(args) result`
fn parse_line(line: &'static str) -> Option<(&'static str, Overload)> {
    let mut words = line.split(' ');
    let (name, id, signature, result) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let mut notation = Notation { rest: signature, params: 0 };
    let mut args = Vec::new();
    let member = !signature.starts_with('(');
    if member {
        args.push(notation.parse()?);
        notation.eat('.')?;
    }
    notation.eat('(')?;
    while !notation.rest.starts_with(')') {
        args.push(notation.parse()?);
        let _ = notation.eat(',');
    }
    notation.rest = result;
    let result = notation.parse()?;
    Some((name, Overload { id, member, args, result, params: notation.params }))
}

/// Reads types as the tables write them.
struct Notation {
    rest: &'static str,
    params: u32,
}

impl Notation {
    fn eat(&mut self, character: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(character)?;
        Some(())
    }

    fn inner(&mut self) -> Option<Type> {
        self.eat('(')?;
        let inner = self.parse()?;
        self.eat(')')?;
        Some(inner)
    }

    fn param(&mut self, number: u32) -> Type {
        self.params = self.params.max(number + 1);
        Type::Param(number)
    }

    fn parse(&mut self) -> Option<Type> {
        let end = self.rest.find(['(', ')', ',', '.']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(match word {
            "A" => self.param(0),
            "B" => self.param(1),
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "duration" => Type::Duration,
            "dyn" => Type::Dyn,
            "int" => Type::Int,
            "string" => Type::String,
            "timestamp" => Type::Timestamp,
            "uint" => Type::Uint,
            "list" => Type::list(self.inner()?),
            "optional" => Type::optional(self.inner()?),
            "type" => Type::type_of(self.inner()?),
            "map" => {
                self.eat('(')?;
                let key = self.parse()?;
                self.eat(',')?;
                let value = self.parse()?;
                self.eat(')')?;
                Type::map(key, value)
            }
            "quantity" => Type::Struct(QUANTITY),
            "semver" => Type::Struct(SEMVER),
            "url" => Type::Struct(URL),
            "format" => Type::Struct(FORMAT),
            "ip" => Type::Opaque(IP, Arc::from([])),
            "cidr" => Type::Opaque(CIDR, Arc::from([])),
            "authorizer" => Type::Struct("kubernetes.authorization.Authorizer"),
            "pathcheck" => Type::Struct("kubernetes.authorization.PathCheck"),
            "groupcheck" => Type::Struct("kubernetes.authorization.GroupCheck"),
            "resourcecheck" => Type::Struct("kubernetes.authorization.ResourceCheck"),
            "decision" => Type::Struct("kubernetes.authorization.Decision"),
            _ => return None,
        })
    }
}
