//! The glue that wasm-bindgen writes keeps its instance in module variables, and takes the platform from where it is. A page
//! needs more than one instance, when the first one dies, and something between each and the platform: here the glue becomes a
//! function that makes both its own.

use anyhow::{Context, Result, bail};

/// What of the platform the face gives to an instance: the names that the glue finds these objects under.
const PLATFORM: &str = "{ AbortController, navigator, IDBDatabase }";
/// From here on the glue loads the module, which the face does itself.
const LOADING: &str = "async function __wbg_load(";

/// `export function instance(platform)`, which answers `{ imports, finish, … }`: what the module imports, what is to be called
/// with the instance, and what the glue exports.
pub(crate) fn instantiable(glue: &str) -> Result<String> {
    let (code, _) = glue.split_once(LOADING).with_context(|| format!("wasm-bindgen's glue has no `{LOADING}`"))?;
    let mut names = String::new();
    let mut body = String::with_capacity(code.len());
    for line in code.lines() {
        let declared = line.strip_prefix("export ");
        if let Some(function) = declared.and_then(|rest| rest.strip_prefix("function ")) {
            names = [&names, ", ", function.split('(').next().unwrap_or_default()].concat();
        } else if line.starts_with("import ") || declared.is_some_and(|rest| !rest.starts_with("class ")) {
            bail!("wasm-bindgen's glue has a line that xtask/src/glue.rs does not know: {line}");
        }
        body.push_str(declared.unwrap_or(line));
        body.push('\n');
    }
    Ok(format!(
        "export function instance({PLATFORM}) {{\n{body}return {{ imports: __wbg_get_imports, finish: __wbg_finalize_init{names} }};\n}}\n",
    ))
}

/// The types that go with it. `openRawQueue` is not exported but for its type.
pub(crate) fn instantiable_types(types: &str) -> Result<String> {
    let (declared, _) =
        types.split_once("export type InitInput").context("wasm-bindgen's types name no `InitInput`")?;
    let instance = "/** An instance of its own, on that platform. */\n\
        export function instance(platform: Pick<typeof globalThis, 'AbortController'> & { navigator: object; IDBDatabase: object }): {\n    \
        imports(): WebAssembly.Imports;\n    \
        finish(instance: { exports: WebAssembly.Exports }): void;\n    \
        openRawQueue: typeof openRawQueue;\n\
        };\n";
    Ok([declared, instance].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_a_module_is_a_function() {
        let glue = "export class RawQueue {\n}\nexport function open(a) {\n}\nlet wasm;\nasync function __wbg_load(module) {\n}\n";
        let made = instantiable(glue).unwrap();
        let expected = "export function instance({ AbortController, navigator, IDBDatabase }) {\n\
            class RawQueue {\n}\nfunction open(a) {\n}\nlet wasm;\n\
            return { imports: __wbg_get_imports, finish: __wbg_finalize_init, open };\n}\n";
        assert_eq!(made, expected);
    }

    #[test]
    fn glue_of_another_shape_is_refused() {
        for glue in ["let wasm;\n", "import { x } from './snippet.js';\nexport { initSync, __wbg_init as default };\n"]
        {
            assert!(instantiable(glue).is_err(), "{glue}");
        }
    }
}
