//! How many bytes a file costs on the wire.

use std::io::Write;

use anyhow::Result;
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) raw: usize,
    /// gzip -9.
    pub(crate) gzip: usize,
    /// Brotli at quality 11, what a CDN serves for a file compressed ahead of time.
    pub(crate) brotli: usize,
}

pub(crate) fn weigh(bytes: &[u8]) -> Result<Weight> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    let mut compressed = Vec::new();
    let params = BrotliEncoderParams { quality: 11, size_hint: bytes.len(), ..BrotliEncoderParams::default() };
    brotli::BrotliCompress(&mut &bytes[..], &mut compressed, &params)?;
    Ok(Weight { raw: bytes.len(), gzip: gzip.finish()?.len(), brotli: compressed.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brotli_beats_gzip_beats_raw_on_text() {
        let text = include_bytes!("compress.rs").repeat(4);
        let weight = weigh(&text).unwrap();
        assert_eq!(weight.raw, text.len());
        assert!(weight.gzip < weight.raw / 2);
        assert!(weight.brotli < weight.gzip);
    }
}
