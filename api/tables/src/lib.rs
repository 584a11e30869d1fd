//! How objects look as rows of a table, which is what `kubectl get` prints, and how they look as metadata alone.
//!
//! Columns and cells are those of Kubernetes, so that the output of kubectl stays the same; our own kinds have
//! columns of their own. Every cell is a function of the object and the moment that is passed in.

mod age;
mod column;
mod fields;
mod kinds;
mod partial;
mod selectors;
mod table;

pub use age::human;
pub use column::Column;
pub use kinds::{cells, columns};
pub use partial::{partial, partial_list};
pub use table::{IncludeObject, MetaVersion, TableOptions, table_of_list, table_of_one};
