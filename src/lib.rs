//! larder compares designs for large, read-mostly in-memory stores and says what each costs.
//!
//! The house, from the roof down. A module imports only from those below it.
//!
//! | module | what it does | what it must not know |
//! |---|---|---|
//! | [`cli`] | one file per subcommand | how anything is measured |
//! | [`serve`] | a small HTTP service over one store: answers, refreshes, metrics | which store it serves |
//! | [`report`] | rows and plan to verdicts, figures, Markdown and HTML | how to measure; it starts nothing |
//! | [`runner`] | the parent: rounds, child processes, deadlines, memory caps, resume | any concrete store |
//! | [`experiment`] | `experiments/*.toml` to a typed plan and a list of cells | how cells are run |
//! | [`cell`] | the child: one spec in, rows out; the only room that times work | other cells |
//! | [`registry`] | every store, one row each | the harness |
//! | [`store`] | the designs, and the traits they implement | the harness |
//! | [`workload`] | items, popularity, request streams; all seeded | stores |
//! | [`measure`] | allocator layer, memory readings, histograms, clocks | stores and workloads |
//! | [`record`] | the rows of a run: the single list of columns, units and meanings | who writes them |
//! | [`stats`] | medians, intervals, rank tests; pure | everything |
//! | [`items`] | a key, a value, and a stream of them | everything |

pub mod cell;
pub mod cli;
pub mod experiment;
pub mod items;
pub mod measure;
pub mod record;
pub mod registry;
pub mod report;
pub mod runner;
pub mod serve;
pub mod stats;
pub mod store;
pub mod workload;

/// The README's examples are compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
