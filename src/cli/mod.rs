//! One file per subcommand. Prints, and decides the exit code; knows nothing of how anything is measured.

mod cell;
mod doctor;
mod experiment;
mod list;
mod progress;
mod report;
mod serve;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Compares designs for large, read-mostly in-memory stores: heap blocks, bytes per entry, resident memory, refresh peaks, latency.
#[derive(Parser)]
#[command(name = "larder", version, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run experiments and write their reports
    Experiment(Box<experiment::Arguments>),
    /// Name the experiments, stores and data sources
    List(list::Arguments),
    /// Render a run's report again, from its rows alone
    Report(report::Arguments),
    /// Serve a store over HTTP: translations by key, refreshes, metrics
    #[command(after_help = serve::SERVICE)]
    Serve(Box<serve::Arguments>),
    /// Say what on this machine would spoil a measurement, and what to do about it
    Doctor(doctor::Arguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell to complete in
        shell: clap_complete::Shell,
    },
    /// Run one cell: a spec on stdin, rows on stdout (started by `experiment`)
    #[command(hide = true)]
    Cell,
}

/// What a subcommand tells the shell.
enum Ended {
    Well,
    /// Results are there, but some cell failed.
    WithFailures,
    /// Ended by Ctrl-C.
    Interrupted,
}

/// Reads the command line, does what it says, and turns the result into an exit code: 0, 1 for any failure, 2 for a wrong command
/// line, 130 after Ctrl-C.
pub fn main() -> ExitCode {
    end_quietly_on_closed_pipe(true);
    let ended = match Arguments::parse().command {
        Command::Experiment(arguments) => experiment::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Cell => cell::run(),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "larder", &mut std::io::stdout());
            Ok(Ended::Well)
        }
    };
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::WithFailures) => ExitCode::FAILURE,
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("larder: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes on one line; a cause that its effect has already told is left out.
fn told(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |told, cause| {
        let cause = cause.to_string();
        match told.as_str() {
            "" => cause,
            before if before.contains(&cause) => told,
            before => format!("{before}: {cause}"),
        }
    })
}

/// Whether the program ends when nobody reads its output any more (`larder list | head`), as programs on Unix do. Rust's own way is an
/// error on the next write, which a run needs: a child that dies early must not end the parent that writes to it.
fn end_quietly_on_closed_pipe(quietly: bool) {
    let action = if quietly { libc::SIG_DFL } else { libc::SIG_IGN };
    // SAFETY: neither action runs code of ours in a signal handler.
    unsafe { libc::signal(libc::SIGPIPE, action) };
}
