//! What a tier promises of what it has said is stored (design, section 4; P6).

/// From the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// In memory: gone with the page.
    Volatile,
    /// localStorage: gone, up to its last minute, when the browser's process is killed (measured).
    Weak,
    /// IndexedDB in an engine without the option `durability` (P6.1).
    StrongRelaxed,
    /// IndexedDB whose transaction itself says `strict`: flushed to the disk before `complete`.
    Strong,
}

impl Durability {
    pub const ALL: [Self; 4] = [Self::Volatile, Self::Weak, Self::StrongRelaxed, Self::Strong];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Volatile => "volatile",
            Self::Weak => "weak",
            Self::StrongRelaxed => "strong_relaxed",
            Self::Strong => "strong",
        }
    }

    /// The tier of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|durability| durability.as_str() == name)
    }
}
