//! larder's command line: argument vector to one function per subcommand.

fn main() {}
