//! A tab: where it goes, what its page says, keys and clicks, pictures and mistakes.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::pipe::Pipe;

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The width of the window, in pixels.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// In dark colours.
    pub dark: bool,
}

impl Look {
    /// A desk.
    pub const DESK: Look = Look { width: 1360, height: 860, dark: false };
    /// A desk at night.
    pub const NIGHT: Look = Look { dark: true, ..Look::DESK };
    /// A phone.
    pub const PHONE: Look = Look { width: 390, height: 800, dark: false };
}

/// A tab.
pub struct Tab {
    pipe: Arc<Pipe>,
    session: String,
    mistakes: Mutex<Vec<String>>,
}

impl Tab {
    pub(crate) fn new(pipe: Arc<Pipe>, session: String) -> Tab {
        Tab { pipe, session, mistakes: Mutex::default() }
    }

    /// Calls a method of the DevTools protocol.
    ///
    /// # Errors
    /// The browser refuses, or does not answer.
    pub fn call(&self, method: &str, params: &Value) -> Result<Value> {
        self.pipe.call(Some(&self.session), method, params)
    }

    pub(crate) fn begin(&self, look: Look) -> Result<()> {
        for domain in ["Page", "Runtime", "Log", "Network", "Performance"] {
            self.call(&format!("{domain}.enable"), &json!({}))?;
        }
        self.look(look)
    }

    /// Looks at the page otherwise.
    ///
    /// # Errors
    /// The browser does not answer.
    pub fn look(&self, look: Look) -> Result<()> {
        let Look { width, height, dark } = look;
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &metrics)?;
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }))?;
        Ok(())
    }

    /// Goes to an address.
    ///
    /// # Errors
    /// The browser does not answer.
    pub fn go(&self, address: &str) -> Result<()> {
        self.call("Page.navigate", &json!({ "url": address }))?;
        Ok(())
    }

    /// What an expression of JavaScript is, with promises kept.
    ///
    /// # Errors
    /// It throws.
    pub fn eval(&self, expression: &str) -> Result<Value> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let told = self.call("Runtime.evaluate", &params)?;
        if let Some(exception) = told.get("exceptionDetails") {
            let text = exception["exception"]["description"].as_str().or(exception["text"].as_str());
            bail!("{expression}: {}", text.unwrap_or("it throws"));
        }
        Ok(told["result"]["value"].clone())
    }

    /// Waits until an expression is true, and says how long that took.
    ///
    /// # Errors
    /// It is not true in time.
    pub fn wait_for(&self, expression: &str, within: Duration) -> Result<Duration> {
        let began = Instant::now();
        loop {
            // While a page is being loaded there is nothing to ask.
            if self.eval(expression).is_ok_and(|value| value == true) {
                return Ok(began.elapsed());
            }
            if began.elapsed() > within {
                let text = self.eval("document.body.innerText.slice(0, 2000)").unwrap_or_default();
                bail!(
                    "not true within {within:?}: {expression}\nthe page says:\n{}",
                    text.as_str().unwrap_or_default()
                );
            }
            sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key by its name, such as `Tab` or `Enter`.
    ///
    /// # Errors
    /// The browser does not answer.
    pub fn press(&self, key: &str) -> Result<()> {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                params["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &params)?;
        }
        Ok(())
    }

    /// Writes a picture of what is seen.
    ///
    /// # Errors
    /// It cannot be made or written.
    pub fn picture(&self, path: &Path) -> Result<()> {
        let made = self.call("Page.captureScreenshot", &json!({ "format": "png" }))?;
        let bytes = STANDARD.decode(made["data"].as_str().context("a picture has bytes")?)?;
        std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    /// How many bytes the page's JavaScript holds.
    ///
    /// # Errors
    /// The browser does not answer.
    pub fn heap(&self) -> Result<f64> {
        let told = self.call("Performance.getMetrics", &json!({}))?;
        let metrics = told["metrics"].as_array().cloned().unwrap_or_default();
        let used = metrics.iter().find(|metric| metric["name"] == "JSHeapUsedSize");
        Ok(used.and_then(|metric| metric["value"].as_f64()).unwrap_or_default())
    }

    /// Mistakes that the page made so far: exceptions, errors in the console, refusals by its policy.
    pub fn mistakes(&self) -> Vec<String> {
        let mut mistakes = self.mistakes.lock().unwrap_or_else(PoisonError::into_inner);
        for event in self.pipe.events(&self.session) {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => {
                    let details = &params["exceptionDetails"];
                    let text = details["exception"]["description"].as_str().or(details["text"].as_str());
                    mistakes.push(text.unwrap_or("an exception").to_owned());
                }
                "Runtime.consoleAPICalled" if params["type"] == "error" || params["type"] == "assert" => {
                    mistakes.push(params["args"].to_string());
                }
                "Log.entryAdded" if params["entry"]["level"] == "error" => {
                    mistakes.push(format!("{} {}", params["entry"]["text"], params["entry"]["url"]));
                }
                _ => {}
            }
        }
        mistakes.clone()
    }
}
