//! What a square looks like: its colour is the namespace of the claim that holds the device, its form the state of the device.
//! The legend has exactly what occurs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use inventory::devices::{DeviceRow, DeviceState};

use super::{LINE, TEXT, escaped, text};

/// Fonts and frames.
pub(super) const STYLE: &str = "<style>
text { font-family: sans-serif; fill: #202124; font-size: 12px }
.title { font-size: 16px; font-weight: bold }
.name { font-weight: bold }
.small { font-size: 11px }
.rack { fill: #f8f9fa; stroke: #9aa0a6 }
.node { fill: #ffffff; stroke: #dadce0 }
.free { fill: #ffffff; stroke: #9aa0a6 }
.barred { fill: #dadce0; stroke: #9aa0a6 }
.tainted { fill: #ffffff; stroke: #b3261e; stroke-width: 2 }
.failed { fill: #b3261e; stroke: #7a1712 }
.mark { fill: #ffffff }
</style>";

/// Colours that differ for people with and without red-green colour blindness.
const PALETTE: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#7b5ea7", "#a6761d", "#1b5e5a"];

/// The colour of namespaces beyond these.
const OTHERS: &str = "#5f6368";

/// The colour of holders that may not be named.
const HIDDEN: &str = "#202124";

/// What stands in the legend instead of a namespace.
const HIDDEN_NAME: &str = "in use";
const OTHERS_NAME: &str = "other namespaces";

/// The space for one entry of the legend beyond its text.
const SWATCH: usize = 42;

/// Which colour is which namespace's, and what occurs.
pub(super) struct Colours {
    of_namespace: BTreeMap<String, &'static str>,
    /// Namespaces in the order of the legend: the one with the most devices first.
    order: Vec<(String, usize)>,
    forms: BTreeMap<Form, usize>,
}

/// What a square is like, apart from its colour.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Form {
    Free,
    Full,
    Part,
    Waiting,
    Failed,
    Tainted,
    Barred,
}

impl Form {
    fn of(state: &DeviceState) -> Form {
        match state {
            DeviceState::Free => Form::Free,
            DeviceState::Allocated | DeviceState::NotPublished => Form::Full,
            DeviceState::PartlyUsed => Form::Part,
            DeviceState::AwaitingReadiness(_) => Form::Waiting,
            DeviceState::Failed(_) => Form::Failed,
            DeviceState::Tainted => Form::Tainted,
            DeviceState::CountersUsedUp
            | DeviceState::IncompatibleGroups
            | DeviceState::PoolIncomplete { .. }
            | DeviceState::PoolInvalid(_)
            | DeviceState::Unknown => Form::Barred,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Form::Free => "free",
            Form::Full => "allocated",
            Form::Part => "partly used",
            Form::Waiting => "waiting for readiness",
            Form::Failed => "failed",
            Form::Tainted => "tainted",
            Form::Barred => "cannot be allocated at the moment",
        }
    }
}

/// The namespace of the first claim that holds a device.
fn namespace(device: &DeviceRow) -> Option<&str> {
    let holder = device.holders.iter().find(|holder| !holder.admin)?;
    Some(holder.named.as_ref().map_or(HIDDEN_NAME, |named| &*named.claim.namespace))
}

impl Colours {
    pub(super) fn of(devices: &[DeviceRow]) -> Colours {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut forms: BTreeMap<Form, usize> = BTreeMap::new();
        for device in devices {
            *forms.entry(Form::of(&device.state)).or_default() += 1;
            if let Some(namespace) = namespace(device) {
                *counts.entry(namespace).or_default() += 1;
            }
        }
        let mut order: Vec<(String, usize)> =
            counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        order.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let named = order.iter().filter(|(name, _)| name != HIDDEN_NAME).zip(PALETTE);
        let mut of_namespace: BTreeMap<String, &'static str> =
            named.map(|((name, _), colour)| (name.clone(), colour)).collect();
        of_namespace.insert(HIDDEN_NAME.to_owned(), HIDDEN);
        Colours { of_namespace, order, forms }
    }

    fn colour(&self, namespace: &str) -> &'static str {
        self.of_namespace.get(namespace).copied().unwrap_or(OTHERS)
    }

    /// Draws a device, which says what it is under the pointer.
    pub(super) fn square(&self, body: &mut String, place: (usize, usize), size: usize, device: &DeviceRow) {
        let mut words = format!("{}: {}", device.id, device.state);
        for holder in &device.holders {
            let name =
                holder.named.as_ref().map_or_else(|| HIDDEN_NAME.to_owned(), |named| named.claim.to_string());
            let _ = write!(words, ", {name}");
        }
        let colour = namespace(device).map_or(OTHERS, |namespace| self.colour(namespace));
        let _ = write!(body, "<g><title>{}</title>", escaped(&words));
        shape(body, Form::of(&device.state), colour, place, size);
        body.push_str("</g>\n");
    }

    /// Draws what squares mean, and tells where that ends.
    pub(super) fn legend(&self, body: &mut String, (x, y): (usize, usize), width: usize) -> usize {
        let mut entries: Vec<(Form, &str, String)> = Vec::new();
        for (form, count) in &self.forms {
            if *form == Form::Full {
                continue;
            }
            entries.push((*form, OTHERS, format!("{}: {count}", form.name())));
        }
        let (mut others, mut named) = (0, Vec::new());
        for (name, count) in &self.order {
            if self.of_namespace.contains_key(name) {
                let words = if name == HIDDEN_NAME {
                    format!("{name}: {count}")
                } else {
                    format!("namespace {name}: {count}")
                };
                named.push((Form::Full, self.colour(name), words));
            } else {
                others += count;
            }
        }
        if others > 0 {
            named.push((Form::Full, OTHERS, format!("{OTHERS_NAME}: {others}")));
        }
        entries.extend(named);
        let (mut left, mut top) = (x, y);
        for (form, colour, words) in entries {
            let wide = words.chars().count() * TEXT / 2 + SWATCH;
            if left > x && left + wide > x + width {
                (left, top) = (x, top + LINE + 4);
            }
            shape(body, form, colour, (left, top), TEXT);
            body.push('\n');
            text(body, (left + TEXT + 6, top + TEXT - 2), "small", &words);
            left += wide;
        }
        top + LINE
    }
}

/// Draws a square of a form.
fn shape(body: &mut String, form: Form, colour: &str, (x, y): (usize, usize), size: usize) {
    let class = match form {
        Form::Free | Form::Part => "free",
        Form::Failed => "failed",
        Form::Tainted => "tainted",
        Form::Barred => "barred",
        Form::Full | Form::Waiting => {
            let _ = write!(body, r#"<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="{colour}"/>"#);
            if form == Form::Waiting {
                let (dot, inset) = (size.div_ceil(3), size / 3);
                let (x, y) = (x + inset, y + inset);
                let _ = write!(body, r#"<rect class="mark" x="{x}" y="{y}" width="{dot}" height="{dot}"/>"#);
            }
            return;
        }
    };
    let _ = write!(body, r#"<rect class="{class}" x="{x}" y="{y}" width="{size}" height="{size}"/>"#);
    if form == Form::Part {
        let (half, y) = (size.div_ceil(2), y + size / 2);
        let _ = write!(body, r#"<rect x="{x}" y="{y}" width="{size}" height="{half}" fill="{colour}"/>"#);
    }
}
