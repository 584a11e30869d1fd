//! `supercargo man`: the manual pages, one for each command.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  supercargo man --dir /usr/local/share/man/man1
  man supercargo-scheduler";

/// Write manual pages, one for each command
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Manual {
    /// The folder to write them to
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

impl Manual {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let failed = |error| Failure::hinted(&format!("cannot write to {}: {error}", self.dir.display()));
        fs::create_dir_all(&self.dir).map_err(failed)?;
        for (name, page) in pages()? {
            fs::write(Path::new(&self.dir).join(&name), page).map_err(failed)?;
            writeln!(out, "{name}")?;
        }
        Ok(())
    }
}

/// Every page by the name of its file.
fn pages() -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut top = Cli::command();
    // Built, commands know by which name they are called.
    top.build();
    let commands = top.get_subcommands().filter(|command| command.get_name() != "help");
    commands.chain([&top]).map(|command| page(command.clone())).collect()
}

fn page(command: Command) -> Result<(String, Vec<u8>), Failure> {
    // Without a date a page is the same whenever it is made.
    let man = Man::new(command)
        .manual("Supercargo Manual")
        .source(concat!("supercargo ", env!("CARGO_PKG_VERSION")));
    let (man, mut text) = (man.date(""), Vec::new());
    man.render(&mut text)?;
    Ok((man.get_filename(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_that_says_how_it_is_used() {
        let pages = pages().expect("pages are made in memory");
        for name in ["supercargo", "supercargo-scheduler", "supercargo-fabric-emulator"] {
            let (_, page) = pages.iter().find(|(file, _)| *file == format!("{name}.1")).expect(name);
            let page = String::from_utf8_lossy(page).replace('\\', "");
            assert!(page.contains(".SH NAME") && page.contains("Examples:"), "{page}");
        }
    }
}
