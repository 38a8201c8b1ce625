//! From one request to its answer. Knows nothing of connections.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;

use super::{Service, guarded, metrics, tell};
use crate::store::{Reader, Store};

pub type Answer = Response<Full<Bytes>>;

/// A value, or words for a person.
const TEXT: &str = "text/plain; charset=utf-8";
/// What Prometheus asks for.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

const PATHS: &str = "ask for /translate?key=..., /metrics or /healthz";

/// Answers, and counts the answer.
pub fn answer<S: Store, B>(service: &Service<S>, request: &Request<B>) -> Answer {
    let answer = route(service, request);
    service.counted.answered(answer.status().as_u16());
    answer
}

fn route<S: Store, B>(service: &Service<S>, request: &Request<B>) -> Answer {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "use GET");
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    match request.uri().path() {
        "/translate" => translate(service, request.uri().query().unwrap_or_default()),
        "/metrics" => of(StatusCode::OK, METRICS, metrics::text(service)),
        "/healthz" => plain(StatusCode::OK, "ok"),
        _ => plain(StatusCode::NOT_FOUND, PATHS),
    }
}

fn translate<S: Store>(service: &Service<S>, query: &str) -> Answer {
    let key = match key(query) {
        Ok(key) => key,
        Err(complaint) => return plain(StatusCode::BAD_REQUEST, complaint),
    };
    let get = || Ok(service.store.reader().get(&key, Bytes::copy_from_slice)?);
    match guarded(get) {
        Ok(Some(value)) => of(StatusCode::OK, TEXT, value),
        Ok(None) => plain(StatusCode::NOT_FOUND, "no such key"),
        Err(error) => {
            tell(&format!("a get failed: {error:#}"));
            plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}"))
        }
    }
}

/// The key that the query names. A `+` is a `+`: keys are percent-encoded, not encoded as a form.
fn key(query: &str) -> Result<Vec<u8>, &'static str> {
    let mut keys = query.split('&').filter_map(|part| part.strip_prefix("key="));
    let key = keys.next().ok_or("no key: write /translate?key=..., the key percent-encoded")?;
    if keys.next().is_some() {
        return Err("two keys: ask for one at a time, and write a & in it as %26");
    }
    let is_escape = |behind: &str| behind.bytes().take_while(u8::is_ascii_hexdigit).take(2).count() == 2;
    if !key.split('%').skip(1).all(is_escape) {
        return Err("a % in the key without two hexadecimal digits behind it: write it as %25");
    }
    Ok(percent_decode_str(key).collect())
}

fn plain(status: StatusCode, words: &str) -> Answer {
    of(status, TEXT, format!("{words}\n"))
}

fn of(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // A refresh may change every answer.
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_percent_decoded_and_nothing_else() {
        for (query, expected) in [
            ("key=a-de", &b"a-de"[..]),
            ("key=a+b%2Bc", b"a+b+c"),
            ("key=%C3%bc%20%25%26", "ü %&".as_bytes()),
            ("key=%ff%00", b"\xff\0"),
            ("key=", b""),
            ("key=a=b", b"a=b"),
            ("lang=de&key=a&x", b"a"),
        ] {
            assert_eq!(key(query), Ok(expected.to_vec()), "{query}");
        }
    }

    #[test]
    fn a_query_that_names_no_single_key_is_refused() {
        for query in ["", "kex=a", "keya", "key=a&key=b", "key=%", "key=a%2", "key=%zz", "key=%2%20", "key=%%25"] {
            assert!(key(query).is_err(), "{query}");
        }
    }
}
