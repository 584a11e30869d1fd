//! Where in an object something is, written as Kubernetes writes it: `spec.devices[3].capacity[memory]`.

use std::fmt;

/// A place in an object. Each segment borrows its parent, so walking down allocates nothing until the path is
/// printed.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: PathSegment<'a>,
}

#[derive(Clone, Copy, Debug)]
enum PathSegment<'a> {
    Root,
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The object itself.
    pub const ROOT: Path<'static> = Path { parent: None, segment: PathSegment::Root };

    /// The field `name` of this place.
    #[must_use]
    pub fn field(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), segment: PathSegment::Field(name) }
    }

    /// The element `index` of the list at this place.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), segment: PathSegment::Index(index) }
    }

    /// The entry `key` of the map at this place.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), segment: PathSegment::Key(key) }
    }

    /// This is the object itself.
    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        parent.fmt(f)?;
        match self.segment {
            PathSegment::Root => Ok(()),
            PathSegment::Field(name) if matches!(parent.segment, PathSegment::Root) => f.write_str(name),
            PathSegment::Field(name) => write!(f, ".{name}"),
            PathSegment::Index(index) => write!(f, "[{index}]"),
            PathSegment::Key(key) => write!(f, "[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn a_path_reads_as_kubernetes_writes_it() {
        let spec = Path::ROOT.field("spec");
        let devices = spec.field("devices");
        let device = devices.index(3);
        let capacity = device.field("capacity");
        assert_eq!(capacity.key("memory").to_string(), "spec.devices[3].capacity[memory]");
        assert_eq!(Path::ROOT.to_string(), "");
    }
}
