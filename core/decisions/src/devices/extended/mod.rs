//! Resources that pods ask for by name and that a class of devices stands for: where a node has none of such a resource itself,
//! devices take its place, by a claim that is made for the pod.

mod claim;
mod mapping;
mod unmade;
mod wish;

pub use self::claim::wish_on;
pub use self::mapping::RequestMapping;
