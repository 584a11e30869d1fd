//! Certificates: an authority of our own, made at first start, that signs the server and the administrator.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use thiserror::Error;

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// All that the server and its administrator need.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The authority that signed the others.
    pub authority: Identity,
    /// The server.
    pub server: Identity,
    /// The administrator.
    pub admin: Identity,
}

/// Certificates could not be made or used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// Making a certificate failed.
    #[error("cannot create a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The certificate or key cannot be used.
    #[error(
        "cannot use the certificate or key: {0}; hint: delete the pki folder of the data directory to make new ones"
    )]
    Use(String),
}

fn named(common_name: &str, organization: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    // Strict clients, such as Python since 3.13, refuse a certificate that does not say which key signed it.
    params.use_authority_key_identifier_extension = true;
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    params.distinguished_name = name;
    params
}

impl Credentials {
    /// Makes an authority, a server certificate for loopback and these addresses, and an administrator.
    ///
    /// # Errors
    /// When the random source or the signing fails.
    pub fn make(addresses: &[IpAddr]) -> Result<Self, TlsError> {
        let authority_key = KeyPair::generate()?;
        let mut authority = named("supercargo", None);
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let authority_pem = authority.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(authority, &authority_key);

        let mut server = named("supercargo-apiserver", None);
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        for name in ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"] {
            server.subject_alt_names.push(SanType::DnsName(name.try_into()?));
        }
        for address in [IpAddr::from([127, 0, 0, 1]), IpAddr::from(std::net::Ipv6Addr::LOCALHOST)]
            .iter()
            .chain(addresses)
        {
            server.subject_alt_names.push(SanType::IpAddress(*address));
        }
        let server_key = KeyPair::generate()?;
        let server_pem = server.signed_by(&server_key, &issuer)?.pem();

        let mut admin = named("supercargo-admin", Some("system:masters"));
        admin.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let admin_key = KeyPair::generate()?;
        let admin_pem = admin.signed_by(&admin_key, &issuer)?.pem();
        Ok(Self {
            authority: Identity { certificate: authority_pem, key: authority_key.serialize_pem() },
            server: Identity { certificate: server_pem, key: server_key.serialize_pem() },
            admin: Identity { certificate: admin_pem, key: admin_key.serialize_pem() },
        })
    }

    /// What the server needs to speak TLS and to recognise client certificates.
    ///
    /// # Errors
    /// When a certificate or key is malformed.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let used = |error: &dyn std::fmt::Display| TlsError::Use(error.to_string());
        let certificate =
            |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| used(&error));
        let key = PrivateKeyDer::from_pem_slice(self.server.key.as_bytes()).map_err(|error| used(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.authority.certificate)?).map_err(|error| used(&error))?;
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .map_err(|error| used(&error))?;
        let chain = vec![certificate(&self.server.certificate)?];
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| used(&error))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|error| used(&error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use x509_parser::extensions::ParsedExtension;
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;

    /// Whose certificate it is, whose key signed it, and its own key, as it says.
    fn check(identity: &Identity, issuer: &Identity) {
        let der = |identity: &Identity| {
            CertificateDer::from_pem_slice(identity.certificate.as_bytes()).expect("a certificate")
        };
        let (certificate, issuer) = (der(identity), der(issuer));
        let (_, certificate) = X509Certificate::from_der(&certificate).expect("a certificate");
        let (_, issuer) = X509Certificate::from_der(&issuer).expect("a certificate");
        let signed_by = certificate.extensions().iter().find_map(|one| match one.parsed_extension() {
            ParsedExtension::AuthorityKeyIdentifier(key) => key.key_identifier.clone(),
            _ => None,
        });
        let key = issuer.extensions().iter().find_map(|one| match one.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(key) => Some(key.clone()),
            _ => None,
        });
        assert!(key.is_some() && signed_by == key, "{:?}", certificate.subject());
        assert_ne!(certificate.subject(), certificate.issuer(), "it would be taken for self-signed");
    }

    #[test]
    fn certificates_say_which_key_signed_them() {
        let made = Credentials::make(&[]).expect("certificates");
        check(&made.server, &made.authority);
        check(&made.admin, &made.authority);
    }
}
