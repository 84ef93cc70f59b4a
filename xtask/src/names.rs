//! Names between the module and its glue. What wasm-bindgen writes, hashes and all, costs an app 3 KB after
//! compression and tells it nothing: in a package that ships they are numbers.

use std::collections::HashMap;
use std::mem;

use anyhow::Result;
use walrus::Module;

/// Shortens the names in the module; then [`Names::apply`] does the same in every text that goes with it.
pub(crate) fn shorten(wasm: &[u8]) -> Result<(Vec<u8>, Names)> {
    let mut module = Module::from_buffer(wasm)?;
    let mut names = Names::default();
    for import in module.imports.iter_mut() {
        names.shorten(&mut import.name);
    }
    // Those without underscores are the package's own, and memory.
    for export in module.exports.iter_mut().filter(|export| export.name.contains("__")) {
        names.shorten(&mut export.name);
    }
    Ok((module.emit_wasm(), names))
}

/// The short name of each long one.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, String>);

impl Names {
    fn shorten(&mut self, name: &mut String) {
        // No identifier of the glue begins with an underscore and a digit.
        let next = format!("_{}", self.0.len());
        let short = self.0.entry(name.clone()).or_insert(next);
        *name = short.clone();
    }

    /// Replaces whole identifiers.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut shortened = String::with_capacity(text.len());
        let mut word = String::new();
        for char in text.chars().chain(['\n']) {
            if char.is_ascii_alphanumeric() || char == '_' || char == '$' {
                word.push(char);
                continue;
            }
            let whole = mem::take(&mut word);
            shortened.push_str(self.0.get(&whole).unwrap_or(&whole));
            shortened.push(char);
        }
        shortened.truncate(shortened.len() - 1);
        shortened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_is_the_same_number_and_parts_of_names_stay() {
        let mut names = Names::default();
        for mut name in ["__wbg_get_1f", "__wbg_get_2e", "__wbg_get_1f"].map(str::to_owned) {
            names.shorten(&mut name);
        }
        let glue = "{ __wbg_get_2e: f(a.__wbg_get_1f) }, __wbg_get_1f0, get";
        assert_eq!(names.apply(glue), "{ _1: f(a._0) }, __wbg_get_1f0, get");
    }

    #[test]
    fn a_module_keeps_what_it_calls_and_loses_what_that_was_called() {
        let mut module = Module::default();
        let kind = module.types.add(&[], &[]);
        let (called, _) = module.add_import_func("./core_bg.js", "__wbg_now_1f2e", kind);
        module.exports.add("__wbindgen_start", called);
        module.exports.add("openRawQueue", called);
        let (wasm, names) = shorten(&module.emit_wasm()).unwrap();
        let short = Module::from_buffer(&wasm).unwrap();
        assert_eq!(short.imports.iter().map(|import| import.name.as_str()).collect::<Vec<_>>(), ["_0"]);
        let exports: Vec<&str> = short.exports.iter().map(|export| export.name.as_str()).collect();
        assert_eq!(exports, ["_1", "openRawQueue"]);
        assert_eq!(names.apply("wasm.__wbindgen_start()"), "wasm._1()");
    }
}
