//! The words by which plugins and nodes speak of services when a plugin registers.
//!
//! They are not the names of the gRPC services: `v1.DRAPlugin` stands for `k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin`.

/// The kind of plugin that drives devices which are claimed.
pub const DRA_PLUGIN: &str = "DRAPlugin";

/// A version of the service that prepares and unprepares claims.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DraVersion {
    /// The version before v1, in which a device has no share.
    V1Beta1,
    /// The present version.
    V1,
}

impl DraVersion {
    /// All versions, the newest first.
    pub const ALL: [Self; 2] = [Self::V1, Self::V1Beta1];

    /// What a plugin says to offer this version.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1.DRAPlugin",
            Self::V1Beta1 => "v1beta1.DRAPlugin",
        }
    }

    /// The version that a plugin offers with this word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == name)
    }
}

/// A version of the service that says how devices are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HealthVersion {
    /// The version before v1, with the same messages.
    V1Alpha1,
    /// The present version.
    V1,
}

impl HealthVersion {
    /// All versions, the newest first.
    pub const ALL: [Self; 2] = [Self::V1, Self::V1Alpha1];

    /// What a plugin says to offer this version.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1.DRAResourceHealth",
            Self::V1Alpha1 => "v1alpha1.DRAResourceHealth",
        }
    }

    /// The version that a plugin offers with this word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == name)
    }
}
