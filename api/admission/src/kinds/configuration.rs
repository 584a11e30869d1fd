//! Small values for pods, and their identities: secrets, config maps and service accounts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use objects::core::kinds::{ConfigMap, Secret, ServiceAccount};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};

const BYTES_MAX: usize = 1024 * 1024;
const KEY_BYTES_MAX: usize = 253;
const FROZEN: &str = "cannot be changed, because the object is immutable";

impl Admit for ServiceAccount {}

impl Admit for ConfigMap {
    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let (data, binary) = (Path::ROOT.field("data"), Path::ROOT.field("binaryData"));
        validate_keys(self.data.keys(), &data, causes);
        validate_keys(self.binary_data.keys(), &binary, causes);
        for key in self.data.keys().filter(|key| self.binary_data.contains_key(*key)) {
            causes.invalid(&data.key(key), "is in binaryData too");
        }
        let text: usize = self.data.values().map(String::len).sum();
        let bytes: usize = self.binary_data.values().map(|value| decoded_len(value)).sum();
        if text + bytes > BYTES_MAX {
            // Quirk: the object as a whole is named so.
            causes.too_long(&Path::ROOT.key(""), BYTES_MAX);
        }
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        if old.immutable == Some(true) {
            frozen("immutable", self.immutable == Some(true), causes);
            frozen("data", self.data == old.data, causes);
            frozen("binaryData", self.binary_data == old.binary_data, causes);
        }
        self.validate(context, causes);
    }
}

impl Admit for Secret {
    fn set_defaults(&mut self, _context: &Context<'_>) {
        // Text is for writing only; it is kept as bytes.
        for (key, text) in std::mem::take(&mut self.string_data) {
            self.data.insert(key, STANDARD.encode(text));
        }
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("data");
        validate_keys(self.data.keys(), &path, causes);
        if self.data.values().map(|value| decoded_len(value)).sum::<usize>() > BYTES_MAX {
            causes.too_long(&path, BYTES_MAX);
        }
        let (all, any): (&[&str], &[&str]) = match self.type_.as_str() {
            "kubernetes.io/dockercfg" => (&[".dockercfg"], &[]),
            "kubernetes.io/dockerconfigjson" => (&[".dockerconfigjson"], &[]),
            "kubernetes.io/ssh-auth" => (&["ssh-privatekey"], &[]),
            "kubernetes.io/tls" => (&["tls.crt", "tls.key"], &[]),
            "kubernetes.io/basic-auth" => (&[], &["username", "password"]),
            _ => (&[], &[]),
        };
        let none = !any.iter().any(|key| self.data.contains_key(*key));
        let missing = all.iter().filter(|key| !self.data.contains_key(**key));
        for key in missing.chain(any.iter().filter(|_| none)) {
            causes.required(&path.key(key), "a secret of this type needs it");
        }
        const ACCOUNT: &str = "kubernetes.io/service-account.name";
        let named = self.metadata.annotations.get(ACCOUNT).is_some_and(|name| !name.is_empty());
        if self.type_ == "kubernetes.io/service-account-token" && !named {
            let metadata = Path::ROOT.field("metadata");
            causes.required(&metadata.field("annotations").key(ACCOUNT), "a token has an account");
        }
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        causes.immutable(&Path::ROOT.field("type"), &self.type_, &old.type_);
        if old.immutable == Some(true) {
            frozen("immutable", self.immutable == Some(true), causes);
            frozen("data", self.data == old.data, causes);
        }
        self.validate(context, causes);
    }
}

fn frozen(name: &str, same: bool, causes: &mut Causes) {
    if !same {
        causes.forbidden(&Path::ROOT.field(name), FROZEN);
    }
}

fn decoded_len(value: &str) -> usize {
    value.trim_end_matches('=').len() * 3 / 4
}

fn validate_keys<'a>(keys: impl Iterator<Item = &'a String>, path: &Path<'_>, causes: &mut Causes) {
    for key in keys {
        validate_key(key, &path.key(key), causes);
    }
}

/// A key becomes the name of a file.
pub(crate) fn validate_key(key: &str, path: &Path<'_>, causes: &mut Causes) {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.len() > KEY_BYTES_MAX {
        causes.invalid(path, format!("may have at most {KEY_BYTES_MAX} bytes"));
    }
    if key.is_empty() || !key.bytes().all(allowed) {
        causes.invalid(path, "must be letters, digits, '-', '_' and '.'");
    }
    if key == "." || key.starts_with("..") {
        causes.invalid(path, "must not begin with '..' or be '.'");
    }
}

#[cfg(test)]
mod tests {
    use objects::core::kinds::ConfigMap;
    use serde_json::json;

    use super::validate_keys;
    use crate::cause::Causes;

    #[test]
    fn a_key_is_the_name_of_a_file() {
        let map: ConfigMap = serde_json::from_value(
            json!({"data": {"a.b": "", "_": "", "..a": "", ".": "", "a b": "", "": ""}}),
        )
        .expect("a config map");
        let mut causes = Causes::default();
        validate_keys(map.data.keys(), &schema::Path::ROOT.field("data"), &mut causes);
        let fields: Vec<String> = causes.into_vec().into_iter().map(|cause| cause.field).collect();
        assert_eq!(fields, ["data[]", "data[.]", "data[..a]", "data[a b]"]);
    }
}
