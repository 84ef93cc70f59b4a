//! What is in the module beside intento: a bill of materials (CycloneDX 1.5, JSON) and the licence texts, both in the
//! package. Nothing in them changes from build to build: no time, no random serial number.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand, Package, PackageId, TargetKind};
use cyclonedx_bom::external_models::spdx::SpdxExpression;
use cyclonedx_bom::external_models::uri::Purl;
use cyclonedx_bom::models::bom::{Bom, SpecVersion};
use cyclonedx_bom::models::component::{Classification, Component, Components};
use cyclonedx_bom::models::dependency::{Dependencies, Dependency};
use cyclonedx_bom::models::license::{LicenseChoice, Licenses};
use cyclonedx_bom::models::metadata::Metadata as About;
use cyclonedx_bom::validation::Validate;

use crate::versions::WASM_TARGET;
use crate::workspace::Workspace;

const BILL: &str = "sbom.cdx.json";
const NOTICES: &str = "THIRD-PARTY-NOTICES.txt";

/// Writes both files beside the module.
pub(crate) fn write(workspace: &Workspace, stage: &Path) -> Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(workspace.root.join("Cargo.toml"))
        .features(CargoOpt::SomeFeatures(Vec::new()))
        .other_options(["--locked".to_owned(), format!("--filter-platform={WASM_TARGET}")])
        .exec()
        .context("correct the manifest that cargo names above")?;
    let linked = Linked::of(&metadata)?;
    fs::write(stage.join(NOTICES), linked.notices()?)?;
    fs::write(stage.join(BILL), linked.bill()?)?;
    Ok(())
}

/// The crates whose code is in the module, intento first among them, and which of them each one uses.
struct Linked<'a> {
    root: &'a Package,
    uses: BTreeMap<&'a PackageId, (&'a Package, Vec<&'a PackageId>)>,
}

impl<'a> Linked<'a> {
    fn of(metadata: &'a Metadata) -> Result<Self> {
        let graph = metadata.resolve.as_ref().context("cargo metadata names no dependencies")?;
        let root = metadata.packages.iter().find(|package| package.name == "intento");
        let root = root.context("the workspace has no package `intento`")?;
        let mut uses = BTreeMap::new();
        let mut left = vec![&root.id];
        while let Some(id) = left.pop() {
            if uses.contains_key(id) {
                continue;
            }
            let node = graph.nodes.iter().find(|node| node.id == *id).context("a crate is not in cargo's graph")?;
            let used = node.deps.iter().filter(|used| {
                used.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal) && !is_macro(&metadata[&used.pkg])
            });
            let used: Vec<&PackageId> = used.map(|used| &used.pkg).collect();
            left.extend(&used);
            uses.insert(id, (&metadata[id], used));
        }
        Ok(Self { root, uses })
    }

    fn others(&self) -> impl Iterator<Item = &'a Package> {
        self.uses.values().map(|(package, _)| *package).filter(|package| package.id != self.root.id)
    }

    fn bill(&self) -> Result<Vec<u8>> {
        let components: Result<Vec<Component>> = self.others().map(component).collect();
        let dependencies = self.uses.values().map(|(package, used)| Dependency {
            dependency_ref: name(package),
            dependencies: used.iter().filter_map(|id| self.uses.get(id)).map(|(package, _)| name(package)).collect(),
        });
        let bom = Bom {
            spec_version: SpecVersion::V1_5,
            serial_number: None,
            metadata: Some(About { component: Some(component(self.root)?), ..About::default() }),
            components: Some(Components(components?)),
            dependencies: Some(Dependencies(dependencies.collect())),
            ..Bom::default()
        };
        let found = bom.validate_version(SpecVersion::V1_5);
        if !found.passed() {
            bail!("the bill of materials is not CycloneDX 1.5: {found:?}");
        }
        let mut json = Vec::new();
        bom.output_as_json_v1_5(&mut json)?;
        json.push(b'\n');
        Ok(json)
    }

    /// Each licence text once, under the names of those that come with it.
    fn notices(&self) -> Result<String> {
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for package in self.others() {
            for text in licence_texts(package)? {
                texts.entry(text).or_default().insert(name(package));
            }
        }
        let mut notices =
            "The WebAssembly module of intento holds code of these crates, and of Rust's standard library\n\
                           (MIT OR Apache-2.0, https://www.rust-lang.org/policies/licenses).\n\n"
                .to_owned();
        for package in self.others() {
            notices += &format!("{} ({})\n", name(package), package.license.as_deref().unwrap_or_default());
        }
        for (text, names) in texts {
            let names: Vec<String> = names.into_iter().collect();
            notices += &format!("\n---\n{}\n---\n\n{}\n", names.join(", "), text.trim_end());
        }
        Ok(notices)
    }
}

fn is_macro(package: &Package) -> bool {
    package.targets.iter().any(|target| target.kind.contains(&TargetKind::ProcMacro))
}

fn name(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

fn component(package: &Package) -> Result<Component> {
    let version = package.version.to_string();
    let licence = package.license.as_deref().with_context(|| format!("{} names no licence", name(package)))?;
    let licence = SpdxExpression::parse_lax(licence.to_owned())?;
    let registry = if package.source.is_some() { "cargo" } else { "npm" };
    Ok(Component {
        purl: Some(Purl::new(registry, &package.name, &version)?),
        licenses: Some(Licenses(vec![LicenseChoice::Expression(licence)])),
        ..Component::new(Classification::Library, &package.name, &version, Some(name(package)))
    })
}

/// What the crate's folder calls licence, copying or notice, sorted by file name.
fn licence_texts(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent().context("a manifest has no folder")?;
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", name(package)))? {
        let path = entry?.path();
        let stem = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        if path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"].iter().any(|word| stem.starts_with(word))
        {
            files.push(path);
        }
    }
    files.sort();
    // Those that offer both are used under the MIT licence, which asks for its text.
    let apache = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains("APACHE"));
    if files.iter().any(|path| !apache(path)) {
        files.retain(|path| !apache(path));
    }
    files.iter().map(|path| Ok(fs::read_to_string(path)?.replace("\r\n", "\n"))).collect()
}
