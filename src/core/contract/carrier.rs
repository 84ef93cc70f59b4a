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
        let quote = if self.quoted { "\"" } else { "" };
        let value = [quote, key.expose(), quote].concat();
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
                let joint = if query.is_some() { "&" } else { "?" };
                Ok([href, joint, &self.name, "=", key.expose()].concat())
            }
            CarrierPlace::Path => {
                // The platform escapes braces in a path.
                let place = ["%7B", &self.name, "%7D"].concat();
                let path = href.split('?').next().unwrap_or_default();
                let (before, after) = around(path, &place).ok_or_else(|| self.misplaced())?;
                let query = href.strip_prefix(path).unwrap_or_default();
                Ok([before, key.expose(), after, query].concat())
            }
        }
    }

    /// The canonical JSON body with the key in it: where [`KEY_PLACE`] stands, exactly once.
    pub fn body(&self, canonical: &str, key: &Key) -> Result<String, Error> {
        let (before, after) = around(canonical, KEY_PLACE).ok_or_else(|| self.misplaced())?;
        Ok([before, "\"", key.expose(), "\"", after].concat())
    }

    fn misplaced(&self) -> Error {
        Error::new(ErrorCode::KeyPlaceInvalid).detail(self.name.clone())
    }
}

/// What stands before and after a place that must be there exactly once.
fn around<'a>(text: &'a str, place: &str) -> Option<(&'a str, &'a str)> {
    let mut starts = (0..text.len()).filter(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(place)));
    let (start, None) = (starts.next()?, starts.next()) else { return None };
    Some((text.get(..start)?, text.get(start + place.len()..)?))
}
