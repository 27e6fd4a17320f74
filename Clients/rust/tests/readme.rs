//! The first example of the README is a whole program: it is built by a package of its own, and run as written.

mod support;

use std::process::Command;
use std::{env, fs};

use support::{cargo_sources, token, Agent, Place};

#[test]
fn the_first_example_runs_as_written() {
    let root = env!("CARGO_MANIFEST_DIR");
    let readme = fs::read_to_string(format!("{root}/README.md")).unwrap();
    let (_, example) = readme.split_once("```rust,no_run\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let place = Place::new();
    fs::create_dir(place.join("src")).unwrap();
    fs::write(place.join("src/main.rs"), example).unwrap();
    let manifest = format!(
        "[package]\nname = \"lanyard-readme\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[dependencies]\nlanyard = {{ path = {root:?} }}\n\n[workspace]\n"
    );
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
    let path = Agent::new().serve(|method, params| {
        assert_eq!((method, &params["account"]), ("token.get", &"@active".into()));
        token()
    });
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| place.join("target"), Into::into).join("readme");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline"])
        .args(cargo_sources())
        .current_dir(&place.0)
        .env("CARGO_TARGET_DIR", target)
        .env("LANYARD_SOCKET", path)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = "30 bytes for acc_c2ztq4xk7m3vwy5ndhb6rfgupa, until 2030-01-01T00:05:00.000Z\n";
    assert_eq!(printed, expected, "{}", String::from_utf8_lossy(&output.stderr));
}
