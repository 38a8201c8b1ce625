//! The URL of a blob: understood, shown without its secrets, and turned into a client. Asks the network nothing.

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use super::Patience;
use super::fault::{Fault, root};
use crate::items::SourceError;

/// The URL of a blob, with a scheme that is known and all that its scheme needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// The URL in `typed`; `None` for what is no URL but a path.
    ///
    /// # Errors
    /// A URL that can't be read, of an unknown scheme, or without a host, bucket or name.
    pub fn parse(typed: &str) -> Option<Result<Self, SourceError>> {
        let (scheme, _) = typed.split_once("://")?;
        let named = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|part| part.is_ascii_alphanumeric() || "+-.".contains(part));
        named.then(|| Self::of_url(typed))
    }

    fn of_url(typed: &str) -> Result<Self, SourceError> {
        // Nothing of what was typed may be shown before it is known where its secrets are.
        let url = Url::parse(typed).map_err(|error| {
            let scheme = typed.split(':').next().unwrap_or_default();
            SourceError::new(format!("data: a {scheme} URL that can't be read: {error}; write {FORMS}"))
        })?;
        let address = Self(url);
        let url = &address.0;
        let host = url.host_str().unwrap_or_default();
        let lacks = match url.scheme() {
            "file" if !host.is_empty() => "a path after three slashes (a file on another host can't be read)",
            "file" | "s3" | "http" | "https" if url.path().trim_matches('/').is_empty() && url.query().is_none() => {
                "a name behind its last slash"
            }
            "file" | "s3" | "http" | "https" => return Ok(address),
            _ => "a scheme that is known",
        };
        Err(SourceError::new(format!("data {}: the URL lacks {lacks}; write {FORMS}", address.shown())))
    }

    /// The URL as errors and logs may show it: without a password and without its query, which may be a signature.
    pub fn shown(&self) -> String {
        let mut url = self.0.clone();
        if url.password().is_some() {
            // Fails for URLs that can't have one.
            let _ = url.set_password(Some("..."));
        }
        if url.query().is_some() {
            url.set_query(Some("..."));
        }
        url.to_string()
    }

    /// A client, and the blob's name for it.
    pub(super) fn client(&self, patience: &Patience) -> Result<(Box<dyn ObjectStore>, Path), Fault> {
        let path = || {
            Path::from_url_path(self.0.path())
                .map_err(|error| Fault::new(format!("its path can't be asked for: {error}")))
        };
        if self.0.scheme() == "file" {
            return Ok((Box::new(LocalFileSystem::new()), path()?));
        }
        // reqwest is built without a provider of cryptography. It is there already for every blob but the first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (retry, options) = (patience.retry(), patience.options());
        let unusable = |error: object_store::Error| Fault::new(format!("no client for it: {}", root(&error)));
        if self.0.scheme() == "s3" {
            let bucket = AmazonS3Builder::new().with_client_options(options).with_retry(retry);
            let bucket = from_environment(bucket).with_bucket_name(self.0.host_str().unwrap_or_default());
            let store = bucket.build().map_err(|error| {
                Fault::new(format!("no client for it: {}; look at the AWS_* variables", root(&error)))
            })?;
            return Ok((Box::new(store), path()?));
        }
        // The whole URL as the base and an empty name: what was typed is asked for as it is, query and all.
        let http = HttpBuilder::new().with_url(self.0.as_str()).with_client_options(options.with_allow_http(true));
        let store = http.with_retry(retry).build().map_err(unusable)?;
        Ok((Box::new(store), Path::default()))
    }
}

const FORMS: &str = "json:file:///PATH, json:http(s)://HOST/PATH or json:s3://BUCKET/KEY";

/// What the usual `AWS_*` variables say, over what was set before; `AmazonS3Builder::from_env` would start from nothing.
fn from_environment(builder: AmazonS3Builder) -> AmazonS3Builder {
    let settings = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| name.starts_with("AWS_"))?.to_ascii_lowercase();
        Some((name.parse::<AmazonS3ConfigKey>().ok()?, value.into_string().ok()?))
    });
    settings.fold(builder, |builder, (key, value)| builder.with_config(key, value))
}

impl Patience {
    fn retry(&self) -> RetryConfig {
        let backoff = BackoffConfig { init_backoff: self.first_wait, max_backoff: self.longest_wait, base: 2.0 };
        // The number of retries is the bound. This one must not be it: it runs on while a body is read, for hours if need be.
        let retry_timeout = (self.connect + self.silence + self.longest_wait) * (self.retries as u32 + 1);
        RetryConfig { backoff, max_retries: self.retries, retry_timeout }
    }

    fn options(&self) -> ClientOptions {
        // No bound on the whole: how long a body takes is up to its length and to the store that is built of it.
        ClientOptions::new().with_connect_timeout(self.connect).with_read_timeout(self.silence).with_timeout_disabled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(typed: &str) -> String {
        Address::parse(typed).expect("a URL").expect_err(typed).to_string()
    }

    #[test]
    fn a_path_is_no_url_even_with_a_colon_in_it() {
        for path in ["a.json", "/data/a:b.json", "C:\\a", "a/b://c", "-", "://", "1a://b"] {
            assert_eq!(Address::parse(path).map(|_| ()), None, "{path}");
        }
    }

    #[test]
    fn a_url_without_what_its_scheme_needs_is_refused() {
        for (typed, words) in [
            ("gs://bucket/key", "a scheme that is known"),
            ("s3://bucket", "a name behind its last slash"),
            ("s3://bucket/", "a name behind its last slash"),
            ("file://host/a", "a file on another host"),
            ("http://", "can't be read"),
            ("http://host:port/a", "can't be read"),
            ("http://[::1/a", "can't be read"),
        ] {
            let error = refused(typed);
            assert!(error.contains(words) && error.contains("json:s3://BUCKET/KEY"), "{typed}: {error}");
        }
    }

    #[test]
    fn passwords_and_signatures_are_not_shown() {
        let address = Address::parse("https://me:secret@host/a.json?X-Amz-Signature=secret").unwrap().unwrap();
        assert_eq!(address.shown(), "https://me:...@host/a.json?...");
        assert!(!refused("ftp://me:secret@host/a?secret").contains("secret"));
        assert!(!refused("http://me:secret@host:port/a?secret").contains("secret"));
    }
}
