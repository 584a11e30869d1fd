//! TLS of the surface: a certificate that is given, or one that is made at start and lives in memory only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

/// TLS or not.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TLS with a certificate that is made at start, as Kubernetes' scheduler does when it is given none.
    SelfSigned,
    /// TLS with this chain of certificates and this key, as PEM.
    Certificate {
        /// The server's certificate first, then those that signed it.
        chain: Vec<u8>,
        /// Its key.
        key: Vec<u8>,
    },
    /// No TLS.
    Plain,
}

/// The certificate could not be made or used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// Making a certificate failed.
    #[error("cannot create a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The certificate or key cannot be used.
    #[error(
        "cannot use the certificate or key: {0}; hint: see --tls-cert-file and --tls-private-key-file, both as PEM"
    )]
    Use(String),
}

pub(super) struct Prepared {
    pub(super) config: Arc<ServerConfig>,
    /// The certificate, if it was made here.
    pub(super) certificate: Option<String>,
}

impl Transport {
    pub(super) fn prepare(&self, address: IpAddr) -> Result<Option<Prepared>, TlsError> {
        let prepared = match self {
            Self::Plain => return Ok(None),
            Self::Certificate { chain, key } => Prepared { config: config(chain, key)?, certificate: None },
            Self::SelfSigned => {
                let (certificate, key) = make(address)?;
                let config = config(certificate.as_bytes(), key.as_bytes())?;
                Prepared { config, certificate: Some(certificate) }
            }
        };
        Ok(Some(prepared))
    }
}

/// A certificate for this machine under its local names, and its key.
fn make(address: IpAddr) -> Result<(String, String), TlsError> {
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "supercargo-scheduler");
    params.distinguished_name = name;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.subject_alt_names.push(SanType::DnsName("localhost".try_into()?));
    let local = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let own = Some(address).filter(|address| !address.is_unspecified() && !address.is_loopback());
    for address in local.into_iter().chain(own) {
        params.subject_alt_names.push(SanType::IpAddress(address));
    }
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

fn config(chain: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>, TlsError> {
    let unusable = |error: &dyn std::fmt::Display| TlsError::Use(error.to_string());
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.map_err(|error| unusable(&error))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| unusable(&error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| unusable(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
