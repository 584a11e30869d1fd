//! The claim that stands for resources which containers ask for by name: its requests, and whose they are.
//!
//! Containers that stay get a request each. Containers that end before others begin take over from these: one may use what
//! containers at its place or later ask for, and only the greatest of what is then missing is asked for on top.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::claim::{Amount, Ask, Request, Wish};
use model::pod::ContainerWish;

use crate::devices::extended::mapping::RequestMapping;

/// A request for devices of a class.
#[derive(Clone, Debug)]
struct Asked {
    name: Arc<str>,
    class: Arc<str>,
    count: i64,
}

/// The requests for resources that these classes stand for, and which container has which of them for what.
pub(crate) fn requests(
    containers: &[ContainerWish],
    resources: &BTreeMap<&Arc<str>, &Arc<str>>,
) -> (Vec<Request>, Vec<RequestMapping>) {
    let mut asked = Vec::new();
    let mut mappings = Vec::new();
    for (resource, class) in resources {
        one_resource(containers, resource, class, &mut asked, &mut mappings);
    }
    asked.sort_by(|left, right| left.name.cmp(&right.name));
    (asked.into_iter().map(request).collect(), mappings)
}

fn one_resource(
    containers: &[ContainerWish],
    resource: &Arc<str>,
    class: &Arc<str>,
    asked: &mut Vec<Asked>,
    mappings: &mut Vec<RequestMapping>,
) {
    let mut staying: Vec<(usize, Asked)> = Vec::new();
    for container in containers.iter().filter(|container| !container.passes) {
        let missing = ask(container, resource, class, &[], mappings);
        staying.extend(missing.map(|asked| (container.place, asked)));
    }
    let mut most: Option<Asked> = None;
    let mut passing = BTreeSet::new();
    let before = mappings.len();
    for container in containers.iter().filter(|container| container.passes) {
        let later = staying.iter().filter(|(place, _)| *place >= container.place);
        let later: Vec<&Asked> = later.map(|(_, asked)| asked).collect();
        let Some(missing) = ask(container, resource, class, &later, mappings) else { continue };
        passing.insert(missing.name.clone());
        if most.as_ref().is_none_or(|most| most.count < missing.count) {
            most = Some(missing);
        }
    }
    if let Some(most) = most {
        let renamed = mappings[before..].iter_mut().filter(|mapping| passing.contains(&mapping.request));
        renamed.for_each(|mapping| mapping.request = most.name.clone());
        asked.push(most);
    }
    asked.extend(staying.into_iter().map(|(_, asked)| asked));
}

/// What a container asks for beyond what it finds, if anything.
fn ask(
    container: &ContainerWish,
    resource: &Arc<str>,
    class: &Arc<str>,
    found: &[&Asked],
    mappings: &mut Vec<RequestMapping>,
) -> Option<Asked> {
    let (place, wanted) = container.amounts.get(resource)?;
    let mut map = |request: &Arc<str>| {
        let (container, resource, request) = (container.name.clone(), resource.clone(), request.clone());
        mappings.push(RequestMapping { container, resource, request });
    };
    let mut sum = 0_i64;
    for one in found {
        map(&one.name);
        sum = sum.saturating_add(one.count);
        if sum >= *wanted {
            return None;
        }
    }
    let name: Arc<str> = format!("container-{}-request-{place}", container.place).into();
    map(&name);
    Some(Asked { name, class: class.clone(), count: wanted - sum })
}

fn request(asked: Asked) -> Request {
    let ask = Ask {
        class: asked.class,
        selectors: Vec::new(),
        amount: Amount::Exactly(asked.count),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    Request { name: asked.name, wish: Wish::Exactly(ask) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A container by its name, whether it passes, and resources with amounts.
    type Told<'t> = (&'t str, bool, &'t [(&'t str, i64)]);

    /// The requests and mappings of containers, in order.
    fn told(containers: &[Told<'_>]) -> (Vec<String>, Vec<String>) {
        let wish = |(place, (name, passes, amounts)): (usize, &Told<'_>)| {
            let amounts = amounts.iter().enumerate();
            let amounts = amounts.map(|(at, (resource, count))| (Arc::from(*resource), (at, *count)));
            ContainerWish { name: (*name).into(), place, passes: *passes, amounts: amounts.collect() }
        };
        let containers: Vec<ContainerWish> = containers.iter().enumerate().map(wish).collect();
        let known: Vec<(Arc<str>, Arc<str>)> =
            vec![("r/gpu".into(), "gpu".into()), ("r/nic".into(), "nic".into())];
        let (requests, mappings) =
            requests(&containers, &known.iter().map(|(resource, class)| (resource, class)).collect());
        let requests = requests.into_iter().map(|request| {
            let Wish::Exactly(ask) = &request.wish else { unreachable!("all are exact") };
            let Amount::Exactly(count) = ask.amount else { unreachable!("all are counted") };
            format!("{} {count} {}", request.name, ask.class)
        });
        let mappings = mappings.into_iter().map(|mapping| {
            let RequestMapping { container, resource, request } = mapping;
            format!("{container} {resource} {request}")
        });
        (requests.collect(), mappings.collect())
    }

    #[test]
    fn each_container_that_stays_has_requests_of_its_own() {
        let (requests, mappings) = told(&[
            ("a", false, &[("r/gpu", 2), ("r/nic", 1)]),
            ("b", false, &[]),
            ("c", false, &[("r/gpu", 1)]),
        ]);
        let expected =
            ["container-0-request-0 2 gpu", "container-0-request-1 1 nic", "container-2-request-0 1 gpu"];
        assert_eq!(requests, expected);
        let expected = [
            "a r/gpu container-0-request-0",
            "c r/gpu container-2-request-0",
            "a r/nic container-0-request-1",
        ];
        assert_eq!(mappings, expected);
    }

    #[test]
    fn a_container_that_passes_uses_what_later_ones_ask_for() {
        let (requests, mappings) = told(&[
            ("init", true, &[("r/gpu", 2)]),
            ("a", false, &[("r/gpu", 1)]),
            ("b", false, &[("r/gpu", 3)]),
        ]);
        assert_eq!(requests, ["container-1-request-0 1 gpu", "container-2-request-0 3 gpu"]);
        let expected = [
            "a r/gpu container-1-request-0",
            "b r/gpu container-2-request-0",
            "init r/gpu container-1-request-0",
            "init r/gpu container-2-request-0",
        ];
        assert_eq!(mappings, expected);
    }

    #[test]
    fn a_container_that_passes_does_not_use_what_earlier_ones_keep() {
        let (requests, _) =
            told(&[("sidecar", false, &[("r/gpu", 1)]), ("init", true, &[("r/gpu", 1)]), ("a", false, &[])]);
        assert_eq!(requests, ["container-0-request-0 1 gpu", "container-1-request-0 1 gpu"]);
    }

    #[test]
    fn of_several_containers_that_pass_the_greatest_need_counts() {
        let (requests, mappings) = told(&[
            ("one", true, &[("r/gpu", 2)]),
            ("two", true, &[("r/gpu", 4)]),
            ("three", true, &[("r/gpu", 3)]),
            ("a", false, &[("r/gpu", 1)]),
        ]);
        assert_eq!(requests, ["container-1-request-0 3 gpu", "container-3-request-0 1 gpu"]);
        let expected = [
            "a r/gpu container-3-request-0",
            "one r/gpu container-3-request-0",
            "one r/gpu container-1-request-0",
            "two r/gpu container-3-request-0",
            "two r/gpu container-1-request-0",
            "three r/gpu container-3-request-0",
            "three r/gpu container-1-request-0",
        ];
        assert_eq!(mappings, expected);
    }
}
