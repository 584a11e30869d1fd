//! Controllers on an API server, when devices, nodes and pods are lost.

mod device_taints;
mod garbage;
mod nodes;
mod site;
