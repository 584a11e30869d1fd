//! The syntax tree.
//!
//! Every node has an id of its own, also the nodes that macros invent, because types and references are kept in tables
//! by id. `Source` remembers where an id came from.

use std::sync::Arc;

/// The number of a node.
pub(crate) type NodeId = u32;

/// A constant as written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

/// A node of the tree.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Expr {
    pub(crate) id: NodeId,
    pub(crate) kind: ExprKind,
}

/// What a node is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ExprKind {
    Literal(Literal),
    Ident(Arc<str>),
    Select { operand: Box<Expr>, field: Arc<str>, test_only: bool },
    Call { target: Option<Box<Expr>>, function: Arc<str>, args: Vec<Expr> },
    List(Vec<Element>),
    Map(Vec<EntryExpr>),
    Struct { name: Arc<str>, fields: Vec<Field> },
    Comprehension(Box<Comprehension>),
}

/// An element of a list; an optional one is left out when it is empty.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Element {
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// An entry of a map; an optional one is left out when its value is empty.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EntryExpr {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A field of a message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Field {
    pub(crate) id: NodeId,
    pub(crate) name: Arc<str>,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A loop with an accumulator: what every macro over lists and maps becomes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: Expr,
    pub(crate) variable: Arc<str>,
    /// The second variable of the two-variable forms.
    pub(crate) second: Option<Arc<str>>,
    pub(crate) accumulator: Arc<str>,
    pub(crate) init: Expr,
    pub(crate) condition: Expr,
    pub(crate) step: Expr,
    pub(crate) result: Expr,
}

impl Comprehension {
    /// Whether this is `cel.bind` or a macro of that shape: no loop at all, just a variable.
    pub(crate) fn is_bind(&self) -> bool {
        matches!(&self.range.kind, ExprKind::List(elements) if elements.is_empty())
            && self.condition.kind == ExprKind::Literal(Literal::Bool(false))
            && &*self.accumulator != "__result__"
    }
}

impl Expr {
    pub(crate) fn as_ident(&self) -> Option<&Arc<str>> {
        match &self.kind {
            ExprKind::Ident(name) => Some(name),
            _ => None,
        }
    }

    /// `a.b.c` as one name, if the node is a chain of names.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Ident(name) => Some(name.to_string()),
            ExprKind::Select { operand, field, test_only: false } => {
                operand.qualified_name().map(|prefix| format!("{prefix}.{field}"))
            }
            _ => None,
        }
    }

    /// Calls `visit` on each child.
    pub(crate) fn for_each_child<'a>(&'a self, mut visit: impl FnMut(&'a Expr)) {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Ident(_) => {}
            ExprKind::Select { operand, .. } => visit(operand),
            ExprKind::Call { target, args, .. } => {
                if let Some(target) = target {
                    visit(target);
                }
                args.iter().for_each(visit);
            }
            ExprKind::List(elements) => elements.iter().for_each(|element| visit(&element.value)),
            ExprKind::Map(entries) => {
                for entry in entries {
                    visit(&entry.key);
                    visit(&entry.value);
                }
            }
            ExprKind::Struct { fields, .. } => fields.iter().for_each(|field| visit(&field.value)),
            ExprKind::Comprehension(fold) => {
                visit(&fold.range);
                visit(&fold.init);
                visit(&fold.condition);
                visit(&fold.step);
                visit(&fold.result);
            }
        }
    }
}

/// Where each node came from.
#[derive(Default, Debug)]
pub(crate) struct Source {
    offsets: Vec<u32>,
}

impl Source {
    /// A new node at a place.
    pub(crate) fn new_id(&mut self, offset: u32) -> NodeId {
        self.offsets.push(offset);
        (self.offsets.len() - 1) as NodeId
    }

    pub(crate) fn offset(&self, id: NodeId) -> u32 {
        self.offsets.get(id as usize).copied().unwrap_or(0)
    }

    /// How many ids exist; the size of a table by id.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }
}
