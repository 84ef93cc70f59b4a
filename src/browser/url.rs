//! URLs, parsed by the platform.

use web_sys::Url;

use crate::core::error::{Error, ErrorCode};
use crate::core::submission::Target;

/// Parses `url`, relative to `base` where one is given.
pub fn parse(url: &str, base: Option<&str>) -> Result<Target, Error> {
    let parsed = match base {
        Some(base) => Url::new_with_base(url, base),
        None => Url::new(url),
    };
    let parsed = parsed.map_err(|_| Error::new(ErrorCode::UrlInvalid))?;
    parsed.set_hash("");
    Ok(Target {
        href: parsed.href(),
        scheme: parsed.protocol(),
        host: parsed.hostname(),
        origin: parsed.origin(),
        has_credentials: !parsed.username().is_empty() || !parsed.password().is_empty(),
    })
}
