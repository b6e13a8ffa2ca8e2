//! A crate outside of the workspace whose dependencies are built beforehand, and rustc on it.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

/// What the generated source may name.
const EXTERNS: [&str; 3] = ["idem_runtime", "serde", "tracing"];

/// Where compilations happen.
pub(super) struct Workplace {
    home: PathBuf,
    /// The built library of each of `EXTERNS`.
    libraries: HashMap<String, PathBuf>,
}

/// A line of cargo's `--message-format=json`, as far as it is needed.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

impl Workplace {
    /// Builds the dependencies, by cargo and without the network. It stands beside this program's
    /// binary, so that a second run finds them built.
    pub(super) fn prepare() -> anyhow::Result<Self> {
        let program = env::current_exe().context("finding the program's own place")?;
        let beside = program.parent().context("the program has no folder")?;
        let home = beside.join("idem-bench-macro");
        fs::create_dir_all(home.join("src")).context("making a folder for the generated crate")?;
        write(&home.join("src/lib.rs"), "")?;
        write(&home.join("Cargo.toml"), &manifest())?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        fs::copy(workspace.join("Cargo.lock"), home.join("Cargo.lock"))
            .context("copying the workspace's Cargo.lock, which says what is there offline")?;
        let libraries = build_dependencies(&home)?;
        Ok(Self { home, libraries })
    }

    /// How long rustc takes for this source as an unoptimised library with debug information, as
    /// `cargo build` would ask for it.
    pub(super) fn compile(&self, name: &str, source: &str) -> anyhow::Result<Duration> {
        let file = self.home.join(format!("src/{name}.rs"));
        write(&file, source)?;
        let out = self.home.join("out").join(name);
        fs::create_dir_all(&out).context("making a folder for compiled code")?;
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition", "2024", "--crate-type", "lib", "--crate-name", name]);
        rustc.args(["--emit", "metadata,link", "-C", "debuginfo=2", "-C", "embed-bitcode=no"]);
        rustc.arg("--out-dir").arg(&out).arg(&file);
        rustc.arg("-L").arg(with_prefix("dependency=", &self.home.join("target/debug/deps")));
        for (name, library) in &self.libraries {
            rustc.arg("--extern").arg(with_prefix(&format!("{name}="), library));
        }
        let started = Instant::now();
        let output = rustc.output().context("starting rustc")?;
        let took = started.elapsed();
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "rustc refused the generated source `{name}`:\n{stderr}");
        Ok(took)
    }
}

fn manifest() -> String {
    let runtime = concat!(env!("CARGO_MANIFEST_DIR"), "/../idem-runtime");
    format!(
        "[package]\nname = \"generated\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\nidem-runtime = {{ path = {runtime:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\ntracing = \"0.1\"\n"
    )
}

fn build_dependencies(home: &Path) -> anyhow::Result<HashMap<String, PathBuf>> {
    eprintln!("building the dependencies of the generated crate…");
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(home)
        .args([
            "build",
            "--offline",
            "--quiet",
            "--message-format",
            "json",
            "--target-dir",
            "target",
        ])
        .output()
        .context("starting cargo")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo could not build the dependencies:\n{stderr}");
    let mut libraries = HashMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Message = serde_json::from_str(line).context("reading cargo's messages")?;
        let (Some(target), Some(file)) =
            (message.target, message.filenames.into_iter().find(|file| is_library(file)))
        else {
            continue;
        };
        let name = target.name.replace('-', "_");
        if EXTERNS.contains(&name.as_str()) {
            libraries.insert(name, file);
        }
    }
    if let Some(missing) = EXTERNS.iter().find(|name| !libraries.contains_key(**name)) {
        bail!("cargo built no library of `{missing}`");
    }
    Ok(libraries)
}

fn is_library(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rlib")
}

fn with_prefix(prefix: &str, path: &Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(prefix);
    argument.push(path);
    argument
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}
