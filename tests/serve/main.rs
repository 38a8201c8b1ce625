//! What a service needs: documents fetched by URL, and `larder serve` driven as a user drives it.

mod arguments;
mod blob;
mod client;
#[path = "../../examples/embed_hybrid.rs"]
#[allow(dead_code, reason = "main is for `cargo run --example`")]
mod embed_hybrid;
mod flaky;
mod service;

#[test]
fn the_example_of_a_service_that_embeds_hybrid_runs_as_written() {
    let folder = tempfile::tempdir().expect("a folder");
    embed_hybrid::run(&embed_hybrid::sample(folder.path()).expect("a document")).expect("the example");
}
