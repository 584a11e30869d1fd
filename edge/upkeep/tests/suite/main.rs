//! Controllers at work on an API server.

mod bound_by_hand;
mod claims;
mod cluster;
mod groups;
mod jobs;
mod stopped;
mod topologies;
