//! Every code block of the README and the pages in docs/: TypeScript compiles, JavaScript runs in Node, JSON is JSON.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// Languages that are only shown.
const SHOWN: &[&str] = &["sh", "html", "http", "text", "rust", "toml", "sql", "java", "swift", "kotlin", "xml"];

#[derive(Debug, PartialEq, Eq)]
struct Block<'a> {
    language: &'a str,
    /// The line of its first line of code, from 1.
    line: usize,
    code: String,
}

/// Writes the blocks as files of the consumer's tests and returns their paths.
pub(crate) fn write(workspace: &Workspace, tests: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for page in pages(workspace)? {
        let name = page.strip_prefix(&workspace.root)?.display().to_string();
        let text = fs::read_to_string(&page)?;
        for block in blocks(&text) {
            let place = format!("{name}:{}", block.line);
            let file = |suffix: &str| tests.join(format!("{}{suffix}", place.replace(['/', ':', '.'], "-")));
            let (file, code) = match block.language {
                "ts" => (file(".test-d.ts"), format!("{}\nexport {{}};\n", block.code)),
                "tsx" => (file(".test-d.tsx"), format!("{}\nexport {{}};\n", block.code)),
                "js" => (file(".test.mjs"), block.code),
                "json" => {
                    serde_json::from_str::<serde_json::Value>(&block.code)
                        .with_context(|| format!("{place} is not JSON"))?;
                    continue;
                }
                shown if SHOWN.contains(&shown) => continue,
                other => bail!("{place}: a block in `{other}` is neither compiled nor known to be only shown"),
            };
            fs::write(&file, code)?;
            files.push(file);
        }
    }
    Ok(files)
}

fn pages(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    let mut folders = vec![workspace.root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                pages.push(path);
            }
        }
    }
    for entry in fs::read_dir(&workspace.root)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("README")) {
            pages.push(path);
        }
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    Ok(pages)
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open.as_mut()) {
            (Some(language), None) => open = Some(Block { language, line: number + 2, code: String::new() }),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => {
                block.code += line;
                block.code.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_knows_its_language_and_its_line() {
        let text = "# Page\n\n```ts\nconst one = 1;\n```\ntext\n- item\n  ```sh\n  ls\n  ```\n";
        assert_eq!(
            blocks(text),
            [
                Block { language: "ts", line: 4, code: "const one = 1;\n".to_owned() },
                Block { language: "sh", line: 9, code: "  ls\n".to_owned() },
            ]
        );
    }
}
