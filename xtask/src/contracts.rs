//! contracts/*.json as the module `intento/contracts`: one frozen export per file.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Frozen, because a contract is stored by content: one that changes under way is another contract.
/// Marked pure at each call, so that a bundler drops the contracts an app does not import.
const FREEZE: &str = "\
const freeze = (value) => {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freeze);
  return Object.freeze(value);
};
";

/// Writes contracts.js and contracts.d.ts into `stage`.
pub(crate) fn write(folder: &Path, stage: &Path) -> Result<()> {
    let contracts = read(folder)?;
    fs::write(stage.join("contracts.js"), module(&contracts)?)?;
    fs::write(stage.join("contracts.d.ts"), declarations(&contracts)?)?;
    Ok(())
}

struct Contract {
    export: String,
    value: Value,
}

/// In order of file name, so that the package is the same on every machine.
fn read(folder: &Path) -> Result<Vec<Contract>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} is missing", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension() == Some(OsStr::new("json")));
    files.sort();
    files.iter().map(|file| parse(file).with_context(|| format!("{} is not a contract", file.display()))).collect()
}

fn parse(file: &Path) -> Result<Contract> {
    let stem = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let export = export_name(stem)?;
    let value: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    if !value["id"].is_string() {
        bail!("it needs an `id`, a string");
    }
    Ok(Contract { export, value })
}

/// `mercado-pago` -> `mercadoPago`.
fn export_name(stem: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut words = stem.split('-');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut chars = word.chars();
        name.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        name.push_str(chars.as_str());
    }
    let valid = stem.starts_with(|c: char| c.is_ascii_lowercase())
        && stem.split('-').all(|word| !word.is_empty() && word.chars().all(plain));
    if !valid {
        bail!("name the file in lower case with hyphens, such as `mercado-pago.json`");
    }
    Ok(name)
}

fn module(contracts: &[Contract]) -> Result<String> {
    let mut text = format!("export {{ defineContract }} from './contract.js';\n\n{FREEZE}");
    for Contract { export, value } in contracts {
        let literal = serde_json::to_string_pretty(value)?;
        write!(text, "\nexport const {export} = /* @__PURE__ */ freeze({literal});\n")?;
    }
    Ok(text)
}

fn declarations(contracts: &[Contract]) -> Result<String> {
    let mut text = String::from(
        "import type { Contract } from './contract.js';\n\nexport { defineContract } from './contract.js';\n\n",
    );
    for Contract { export, value } in contracts {
        let member = |name: &str| value[name].as_str().unwrap_or_default();
        let (name, checked, source) = (member("name"), member("checked"), value["sources"][0].as_str());
        writeln!(text, "/** {name}. Read on {checked}, first of all {}. */", source.unwrap_or("nowhere"))?;
        writeln!(text, "export declare const {export}: Contract;")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_become_camel_case_exports() {
        assert_eq!(export_name("generic").unwrap(), "generic");
        assert_eq!(export_name("mercado-pago").unwrap(), "mercadoPago");
        assert_eq!(export_name("stripe-v2").unwrap(), "stripeV2");
    }

    #[test]
    fn other_file_names_are_refused() {
        for stem in ["", "2checkout", "Stripe", "pay pal", "pay--pal", "-x", "a;b"] {
            assert!(export_name(stem).is_err(), "{stem:?} was accepted");
        }
    }

    #[test]
    fn each_contract_is_one_pure_export() {
        let contracts = [Contract { export: "generic".into(), value: json!({ "id": "generic" }) }];
        let text = module(&contracts).unwrap();
        assert!(text.contains("export const generic = /* @__PURE__ */ freeze({\n  \"id\": \"generic\"\n});"));
        let types = declarations(&contracts).unwrap();
        assert!(types.contains("export declare const generic: Contract;"));
    }
}
