//! `supercargo fabric-emulator`: the manager of a fabric that is none.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use fabric::{Emulator, Setup};

use crate::cli::address;
use crate::commands::apiserver::stopped;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  supercargo fabric-emulator --inventory examples/fabric/room.yaml
  curl -s http://127.0.0.1:8008/redfish/v1/Chassis
  curl -s -d '{\"Orders\": 1}' http://127.0.0.1:8008/redfish/v1/Oem/Actions/Fail       the next request fails
  curl -s -d '{\"Model\": \"A100\"}' http://127.0.0.1:8008/redfish/v1/Oem/Actions/Plug    one more device
  curl -s -d '{\"Id\": \"box-1-A100-2\"}' http://127.0.0.1:8008/redfish/v1/Oem/Actions/Seize   another cluster takes it";

/// Emulate the manager of a composable fabric: hosts, switches, ports and devices, over Redfish
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FabricEmulator {
    /// YAML file with the hosts, switches and devices of the fabric
    #[arg(long, value_name = "FILE")]
    inventory: PathBuf,
    /// The address to listen on; requests are not authenticated; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:8008")]
    listen: SocketAddr,
}

impl FabricEmulator {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let path = self.inventory.display();
        let text = std::fs::read_to_string(&self.inventory)
            .map_err(|error| Failure::hinted(&format!("cannot read {path}: {error}")))?;
        let setup = Setup::parse(&text).map_err(|error| Failure::hinted(&format!("{path}: {error}")))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.block_on(self.serve(setup, out))
    }

    async fn serve(&self, setup: Setup, out: &mut dyn Write) -> Result<(), Failure> {
        let listening = Emulator::new(setup).listen(self.listen).await;
        let (address, serving) = listening.map_err(|error| {
            Failure::hinted(&format!(
                "cannot listen on {}: {error}; hint: choose another address with --listen",
                self.listen
            ))
        })?;
        match writeln!(out, "address  http://{address}").and_then(|()| out.flush()) {
            // Who closes the pipe has seen enough, and may still want the fabric.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            announced => announced?,
        }
        tokio::select! {
            () = serving => {}
            () = stopped() => {}
        }
        Ok(())
    }
}
