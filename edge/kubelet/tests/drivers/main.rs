//! A node and drivers of devices, over real sockets: each driver is a process that is killed, restarted and misbehaves.

mod bad;
mod cluster;
mod driver;
mod health;
mod life;
