//! An object of a simulation in one of two forms: a tree to work with, and text at rest.
//!
//! Invariant: both forms are the same object. The text takes about a tenth of the tree's memory, and most objects of a large
//! cluster are nodes and slices, which nobody looks at again once the engine has been told of them.

use std::cell::OnceCell;
use std::fmt;

use objects::Object;
use serde_json::Value;

/// An object that is stored.
#[derive(Clone)]
pub(crate) enum Kept {
    /// Somebody works with it.
    Tree(Value),
    /// It is at rest; the tree is there from when it is looked at until it is put to rest again.
    Text(Box<str>, OnceCell<Value>),
}

impl Kept {
    /// The object, to look at.
    pub(crate) fn get(&self) -> &Value {
        match self {
            Kept::Tree(tree) => tree,
            Kept::Text(text, tree) => tree.get_or_init(|| unpacked(text)),
        }
    }

    /// The object as its wire type. One that is at rest stays so.
    pub(crate) fn read<T: Object>(&self) -> Option<T> {
        match self {
            Kept::Text(text, tree) if tree.get().is_none() => T::read(text.as_bytes()).ok(),
            Kept::Tree(_) | Kept::Text(..) => T::read_value(self.get()).ok(),
        }
    }

    /// The object, to be changed.
    pub(crate) fn get_mut(&mut self) -> &mut Value {
        if let Kept::Text(text, tree) = self {
            *self = Kept::Tree(tree.take().unwrap_or_else(|| unpacked(text)));
        }
        match self {
            Kept::Tree(tree) => tree,
            Kept::Text(..) => unreachable!("it became a tree above"),
        }
    }

    /// Lets go of the tree.
    pub(crate) fn rest(&mut self) {
        match self {
            Kept::Tree(tree) => *self = Kept::Text(tree.to_string().into_boxed_str(), OnceCell::new()),
            Kept::Text(_, tree) => drop(tree.take()),
        }
    }
}

fn unpacked(text: &str) -> Value {
    serde_json::from_str(text).expect("it was written from a value")
}

impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        self.get() == other.get()
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.get())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_the_same_at_rest_and_when_it_is_worked_with() {
        let object =
            json!({ "a": [1, -2, 1.0, 0.1, u64::MAX], "text": "\"quoted\"\n\u{1f6a2}", "none": null });
        let mut kept = Kept::Tree(object.clone());
        for _ in 0..2 {
            kept.rest();
            assert!(matches!(&kept, Kept::Text(_, tree) if tree.get().is_none()));
            assert_eq!(*kept.get(), object);
        }
        kept.get_mut()["a"] = json!(1);
        assert_eq!(kept.get()["a"], 1);
        kept.rest();
        assert_eq!((&kept.get()["a"], &kept.get()["text"]), (&json!(1), &object["text"]));
    }
}
