//! The package as one classic script, and that script as a string.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::process;
use crate::workspace::Workspace;

/// The one global it makes.
const GLOBAL: &str = "intento";

/// Also where the script is run inside a function, as some hosts do, and with a value that such a host can carry.
const FOOTER: &str = "globalThis.intento=intento;true;";

/// Beside pkg-template/src/global.ts, and the same: that file's own types would be no entry of the reference.
const IIFE_TYPES: &str = "\
/** A classic script: it makes one global, and exports nothing. */

declare global {
  /** What `intento` exports, in a page that loads the classic script. */
  var intento: {
    /** See `openQueue` of `intento`. */
    openQueue: typeof import('./index.js').openQueue;
    /** See `IntentoError` of `intento`. */
    IntentoError: typeof import('./index.js').IntentoError;
    /** See `intento/contracts`. */
    contracts: typeof import('./contracts.js');
    /** See `intento/service-worker`. */
    drainOnSync: typeof import('./service-worker.js').drainOnSync;
    /** See `intento/react-native/page`. */
    connectHost: typeof import('./react-native-page.js').connectHost;
  };
}

export {};
";

const WEBVIEW_TYPES: &str = "\
/**
 * The script of `intento/iife` as text, safe inside `<script>` and as `injectedJavaScriptBeforeContentLoaded`. It makes the
 * global `intento`.
 */
export declare const source: string;
";

/// Makes iife.js and webview.js of global.js in `stage`, with their types.
pub(crate) fn write(workspace: &Workspace, stage: &Path) -> Result<()> {
    let (entry, script) = (stage.join("global.js"), stage.join("iife.js"));
    let shape = ["--format=iife".into(), format!("--global-name={GLOBAL}"), format!("--footer:js={FOOTER}")];
    bundle(workspace, &entry, &shape.each_ref().map(String::as_str), &script)?;
    let text = safe_in_markup(&fs::read_to_string(&script)?)?;
    fs::write(script, &text)?;
    fs::write(stage.join("webview.js"), format!("export const source = {};\n", serde_json::to_string(&text)?))?;
    fs::write(stage.join("iife.d.ts"), IIFE_TYPES)?;
    fs::write(stage.join("webview.d.ts"), WEBVIEW_TYPES)?;
    fs::remove_file(stage.join("global.d.ts"))?;
    Ok(fs::remove_file(entry)?)
}

/// Bundles `entry` as an app would, minified, into `out`.
pub(crate) fn bundle(workspace: &Workspace, entry: &Path, shape: &[&str], out: &Path) -> Result<()> {
    process::run(
        workspace
            .npm_tool("esbuild", "esbuild")
            .arg(entry)
            .args(["--bundle", "--minify", "--target=es2022", "--charset=ascii", "--log-level=warning"])
            .args(shape)
            .arg(format!("--outfile={}", out.display())),
        "correct what esbuild names above",
    )
}

/// The script with nothing in it that HTML reads inside `<script>` (HTML, section 4.12.1.3), nor a line end of old JavaScript.
fn safe_in_markup(script: &str) -> Result<String> {
    let safe = script.replace("</", "<\\/").replace("<!--", "\\x3C!--");
    match safe.is_ascii() {
        true => Ok(safe),
        false => bail!("the classic script is not ASCII: esbuild no longer escapes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_string_ends_the_script_that_holds_it() {
        let script = r#"a="</script><!--";"#;
        assert_eq!(safe_in_markup(script).unwrap(), r#"a="<\/script>\x3C!--";"#);
        assert!(safe_in_markup("a='\u{2028}'").is_err());
    }
}
