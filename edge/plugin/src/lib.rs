//! The protocol between a node and the drivers of its devices: messages, clients and servers.
