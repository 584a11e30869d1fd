//! The checker against a small cluster with one of everything.

#[cfg(test)]
mod closed;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod state;
