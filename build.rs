//! Tells the program what it was built from; the manifest of every run names it.

use std::process::Command;

fn main() {
    let commit = output("git", &["rev-parse", "HEAD"]);
    let dirty = !output("git", &["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"]).is_empty();
    println!("cargo::rustc-env=LARDER_COMMIT={}", if commit.is_empty() { "unknown" } else { &commit });
    println!("cargo::rustc-env=LARDER_DIRTY={dirty}");
    println!("cargo::rustc-env=LARDER_RUSTC={}", output(&std::env::var("RUSTC").unwrap_or("rustc".into()), &["-V"]));
    println!("cargo::rustc-env=LARDER_PROFILE={}", std::env::var("PROFILE").unwrap_or_default());
    println!("cargo::rustc-env=LARDER_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    for path in ["src", "experiments", "Cargo.toml", "Cargo.lock", ".git/HEAD", ".git/index"] {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let Ok(output) = Command::new(program).args(arguments).output() else { return String::new() };
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
