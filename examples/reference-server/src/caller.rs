//! Whose keys a request speaks of.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use crate::problem::Problem;

const MAX_NAME_CHARS: usize = 64;
/// The scope of callers without credentials. Nobody can sign in under this name.
const GUEST: &str = "guest";

/// The caller's scope.
///
/// # Errors
/// `Unauthorized` for credentials this server does not know.
pub(crate) fn scope(headers: &HeaderMap) -> Result<String, Problem> {
    let Some(credentials) = headers.get(AUTHORIZATION) else {
        return Ok(GUEST.to_owned());
    };
    credentials
        .to_str()
        .ok()
        .and_then(|credentials| credentials.strip_prefix("Bearer user:"))
        .filter(|name| is_name(name) && *name != GUEST)
        .map(str::to_owned)
        .ok_or(Problem::Unauthorized)
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}
