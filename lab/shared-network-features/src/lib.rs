//! Nothing but dependencies: crates from outside have the same features in all crates that speak HTTP or gRPC. The manifest says
//! how.
