//! How the key travels: in a header, in the body, in the query or in the path.

use crate::core::error::{Error, ErrorCode};
use crate::core::json::json;
use crate::core::key::Key;

/// How the key travels. Stored with the intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    pub place: CarrierPlace,
    /// The header's name, the JSON pointer of the body's member, the query's parameter, or the word that stands in
    /// braces in the URL's path. Nothing where there is no key.
    pub name: String,
    /// As an RFC 8941 string; else raw. For headers.
    pub quoted: bool,
    /// A header that says when the request was first sent, the same on every attempt (OASIS Repeatable Requests).
    pub first_sent: Option<String>,
}

json!(struct Carrier { place = "in", name: default, quoted: default, first_sent = "firstSent" });

/// Where in a request the key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierPlace {
    Header,
    Body,
    Query,
    Path,
    /// The server knows no key: nothing is ever sent twice.
    None,
}

json!(words CarrierPlace { Header = "header", Body = "body", Query = "query", Path = "path", None = "none" });

/// Stands for the key in a canonical body until it is rendered: the escape of a lone surrogate, which no body that is
/// accepted holds (P9), and no canonical JSON makes.
pub const KEY_PLACE: &str = "\"\\ud800\"";

impl Carrier {
    /// The header's name and its value for a key, if that is how it travels. Keys hold no character that a quoted
    /// string would escape.
    pub fn header(&self, key: &Key) -> Option<(String, String)> {
        let value = if self.quoted { format!("\"{}\"", key.expose()) } else { key.expose().to_owned() };
        (self.place == CarrierPlace::Header).then(|| (self.name.clone(), value))
    }

    /// The URL with the key in it. `href` is as the platform serialises it, without a fragment.
    pub fn url(&self, href: &str, key: &Key) -> Result<String, Error> {
        match self.place {
            CarrierPlace::Header | CarrierPlace::Body | CarrierPlace::None => Ok(href.to_owned()),
            CarrierPlace::Query => {
                let query = href.split_once('?').map(|(_, query)| query);
                let taken = query.is_some_and(|query| {
                    query.split('&').any(|pair| pair.split('=').next() == Some(self.name.as_str()))
                });
                if taken {
                    return Err(self.misplaced());
                }
                let joint = if query.is_some() { '&' } else { '?' };
                Ok(format!("{href}{joint}{}={}", self.name, key.expose()))
            }
            CarrierPlace::Path => {
                // The platform escapes braces in a path.
                let place = format!("%7B{}%7D", self.name);
                let (path, query) = href.split_at(href.find('?').unwrap_or(href.len()));
                let mut parts = path.split(&place);
                match (parts.next(), parts.next(), parts.next()) {
                    (Some(before), Some(after), None) => Ok(format!("{before}{}{after}{query}", key.expose())),
                    _ => Err(self.misplaced()),
                }
            }
        }
    }

    /// The canonical JSON body with the key in it: where [`KEY_PLACE`] stands, exactly once.
    pub fn body(&self, canonical: &str, key: &Key) -> Result<String, Error> {
        let mut parts = canonical.split(KEY_PLACE);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(before), Some(after), None) => Ok(format!("{before}\"{}\"{after}", key.expose())),
            _ => Err(self.misplaced()),
        }
    }

    fn misplaced(&self) -> Error {
        Error::new(ErrorCode::KeyPlaceInvalid).detail(self.name.clone())
    }
}
