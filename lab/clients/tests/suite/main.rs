//! Clients and bad requests against a server.

mod bad_requests;
mod kube_rs;
mod served;
