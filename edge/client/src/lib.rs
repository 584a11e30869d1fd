//! The connection to a Kubernetes API server, real or embedded.
