//! What is to be otherwise in a plan, as people write it: `drain=node-1`, `attach=4×a100@rack-1`.
//!
//! Invariant: every number is bounded before anything is made of it.

use model::nearest::nearest;

/// How many nodes may be added at once.
pub const NODES_MAX: u32 = 10_000;

/// How many devices may be attached at once.
pub const DEVICES_MAX: u32 = 10_000;

/// What may be said before the equals sign.
const KINDS: [&str; 6] = ["add-node", "attach", "drain", "gate", "priority", "without"];

/// Something that is to be otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Alteration {
    /// A node takes no new pods, and its pods are placed anew.
    Drain(String),
    /// There are more nodes like one that is there.
    AddNode {
        /// That node.
        like: String,
        /// How many.
        count: u32,
    },
    /// There are more devices like one that is there.
    Attach {
        /// How many.
        count: u32,
        /// A class of devices, or the value of an attribute.
        model: String,
        /// A node, a value of a node label, or a label with its value.
        domain: String,
    },
    /// A feature is on or off, such as `X=true`.
    Gate(String),
    /// A pod has another priority.
    Priority {
        /// The pod.
        pod: String,
        /// A number, or the name of a PriorityClass.
        priority: String,
    },
    /// A pod is not there.
    Without(String),
}

impl Alteration {
    /// Reads what is written after `--with`.
    ///
    /// # Errors
    /// It is nothing of all this, as the text says.
    pub fn parse(text: &str) -> Result<Alteration, String> {
        let (kind, value) = text.split_once('=').unwrap_or((text, ""));
        let value = value.trim();
        if !KINDS.contains(&kind) {
            let meant = nearest(kind, KINDS.into_iter()).unwrap_or_default();
            let kinds = KINDS.join(", ");
            return Err(format!("{kind:?} is none of {kinds}; did you mean `{meant}`?"));
        }
        if value.is_empty() {
            return Err(format!("`{kind}` needs a value, such as {}", example(kind)));
        }
        match kind {
            "drain" => Ok(Alteration::Drain(value.to_owned())),
            "without" => Ok(Alteration::Without(value.to_owned())),
            "gate" => match value.split_once('=') {
                Some((_, "true" | "false")) => Ok(Alteration::Gate(value.to_owned())),
                _ => Err(format!("`gate` needs a feature and true or false, such as {}", example(kind))),
            },
            "add-node" => {
                let (like, count) = match value.rsplit_once(':') {
                    None => (value, 1),
                    Some((like, count)) => (like, number(count, "nodes", NODES_MAX)?),
                };
                Ok(Alteration::AddNode { like: named(like, kind)?, count })
            }
            "priority" => {
                let (pod, priority) = value.split_once('=').unwrap_or((value, ""));
                let (pod, priority) = (named(pod, kind)?, named(priority, kind)?);
                Ok(Alteration::Priority { pod, priority })
            }
            "attach" => attach(value),
            other => unreachable!("{other} is among the kinds"),
        }
    }
}

fn attach(value: &str) -> Result<Alteration, String> {
    let form = || format!("`attach` needs COUNT×MODEL@DOMAIN, such as {}", example("attach"));
    let (devices, domain) = value.rsplit_once('@').ok_or_else(form)?;
    // The first that is no digit or sign ends the number: ×, or x on keyboards without it.
    let (count, model) = devices.split_once(['×', 'x', '*']).ok_or_else(form)?;
    let count = number(count.trim(), "devices", DEVICES_MAX)?;
    Ok(Alteration::Attach { count, model: named(model, "attach")?, domain: named(domain, "attach")? })
}

fn number(text: &str, what: &str, most: u32) -> Result<u32, String> {
    let count = text.parse::<u32>().ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| format!("{text:?} is no number of {what} from 1 to {most}"))
}

fn named(text: &str, kind: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err(format!("`{kind}` is not complete; it looks like {}", example(kind))),
        name => Ok(name.to_owned()),
    }
}

fn example(kind: &str) -> &'static str {
    match kind {
        "add-node" => "add-node=node-1:2",
        "attach" => "attach=4×a100@rack-1",
        "drain" => "drain=node-1",
        "gate" => "gate=DRAPartitionableDevices=true",
        "priority" => "priority=default/trainer=1000",
        _ => "without=default/trainer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_understood() {
        let attach = |model: &str, domain: &str| Alteration::Attach {
            count: 4,
            model: model.to_owned(),
            domain: domain.to_owned(),
        };
        let priority = |priority: &str| Alteration::Priority {
            pod: "team-a/p".to_owned(),
            priority: priority.to_owned(),
        };
        let cases = [
            ("drain=node-1", Alteration::Drain("node-1".to_owned())),
            ("add-node=n", Alteration::AddNode { like: "n".to_owned(), count: 1 }),
            ("add-node=n:10000", Alteration::AddNode { like: "n".to_owned(), count: 10_000 }),
            ("attach=4×a100@rack-1", attach("a100", "rack-1")),
            ("attach=4xa100@rack-1", attach("a100", "rack-1")),
            ("attach=4 × xl x@example.com/rack=r", attach("xl x", "example.com/rack=r")),
            ("gate=DRADeviceTaints=false", Alteration::Gate("DRADeviceTaints=false".to_owned())),
            ("priority=team-a/p=-5", priority("-5")),
            ("priority=team-a/p=high", priority("high")),
            ("without=p", Alteration::Without("p".to_owned())),
        ];
        for (text, expected) in cases {
            assert_eq!(Alteration::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        let cases = [
            ("drian=n", "did you mean `drain`?"),
            ("", "is none of add-node, attach"),
            ("drain=", "`drain` needs a value, such as drain=node-1"),
            ("drain", "`drain` needs a value"),
            ("add-node=n:1000000000", "\"1000000000\" is no number of nodes from 1 to 10000"),
            ("add-node=n:-1", "\"-1\" is no number of nodes"),
            ("add-node=n:0", "\"0\" is no number of nodes"),
            ("add-node=n:", "\"\" is no number of nodes"),
            ("add-node=:2", "it looks like add-node=node-1:2"),
            ("attach=-4×a@b", "\"-4\" is no number of devices"),
            ("attach=99999999999×a@b", "is no number of devices from 1 to 10000"),
            ("attach=a100@rack", "COUNT×MODEL@DOMAIN"),
            ("attach=4×a100", "COUNT×MODEL@DOMAIN"),
            ("attach=4×@r", "it looks like attach="),
            ("gate=X", "true or false"),
            ("gate=X=maybe", "true or false"),
            ("priority=p", "it looks like priority="),
        ];
        for (text, expected) in cases {
            let wrong = Alteration::parse(text).expect_err(text);
            assert!(wrong.contains(expected), "{text}: {wrong}");
        }
    }
}
