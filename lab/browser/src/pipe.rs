//! The pipes to the browser: calls and their answers, and events that come by themselves.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// How long an answer may take; test machines are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// The shell gives the browser its pipes at the numbers where it looks for them.
const SHELL: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#;

/// The pipes.
pub(crate) struct Pipe {
    child: Mutex<Child>,
    input: Mutex<ChildStdin>,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    last: u64,
    waiting: HashMap<u64, Sender<Value>>,
    /// Events by session.
    events: HashMap<String, Vec<Value>>,
}

impl Pipe {
    pub(crate) fn start(program: &Path, profile: &Path) -> Result<Pipe> {
        let mut child = Command::new("sh")
            .args(["-c", SHELL])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--no-first-run"])
            .args(["--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--mute-audio"])
            .args(["--disable-background-networking", "--disable-component-update", "--hide-scrollbars"])
            .args(["--disable-background-timer-throttling", "--disable-renderer-backgrounding"])
            .args(["--disable-backgrounding-occluded-windows", "--enable-precise-memory-info"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().context("the input is a pipe")?;
        let output = child.stdout.take().context("the output is a pipe")?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        let ears = heard.clone();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                if let Ok(value) = serde_json::from_slice(&message) {
                    hear(&ears, value);
                }
                message.clear();
            }
            // Who waits for an answer will not get one.
            locked(&ears).waiting.clear();
        });
        Ok(Pipe { child: Mutex::new(child), input: Mutex::new(input), heard })
    }

    /// Calls a method, and waits for its answer.
    pub(crate) fn call(&self, session: Option<&str>, method: &str, params: &Value) -> Result<Value> {
        let (answer, answered) = channel();
        let id = {
            let mut heard = locked(&self.heard);
            heard.last += 1;
            let id = heard.last;
            heard.waiting.insert(id, answer);
            id
        };
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        {
            let mut input = locked(&self.input);
            input.write_all(&bytes)?;
            input.flush()?;
        }
        let answer = answered.recv_timeout(PATIENCE).with_context(|| format!("no answer to {method}"))?;
        if let Some(message) = answer["error"]["message"].as_str() {
            bail!("{method}: {message}");
        }
        Ok(answer["result"].clone())
    }

    /// The events of a session since the last look.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        locked(&self.heard).events.remove(session).unwrap_or_default()
    }

    pub(crate) fn end(&self) {
        let _ = self.call(None, "Browser.close", &json!({}));
        let mut child = locked(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn hear(ears: &Mutex<Heard>, message: Value) {
    let mut heard = locked(ears);
    match message["id"].as_u64() {
        Some(id) => {
            if let Some(waiting) = heard.waiting.remove(&id) {
                let _ = waiting.send(message);
            }
        }
        None => {
            let session = message["sessionId"].as_str().unwrap_or_default().to_owned();
            heard.events.entry(session).or_default().push(message);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
