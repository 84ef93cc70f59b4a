//! Media types (RFC 9110 section 8.3.1).

/// A media type without its parameters, lower-case.
pub fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Is an essence JSON, plain or as a structured suffix (RFC 6839)?
pub fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.ends_with("+json")
}
