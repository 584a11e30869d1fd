//! Whether a pod that came to a node, or changed there, may help a pod that waits for rules about other pods to hold.
//!
//! Invariant: no for a change that leaves every rule of the waiting pod as it was, or makes it only harder to meet.

use cluster::namespaces::Namespaces;
use model::pod::{Pod, PodTerm, Shape};

use crate::filters::pod_term::OwnTerm;
use crate::filters::settings::FilterSettings;
use crate::filters::spread::is_counted;
use crate::values::filter_set::Filter;

/// Whether a pod on a node may help a waiting pod to be placed, given what that pod was like before; none if it is new there.
#[must_use]
pub fn is_helped(
    shape: &Shape,
    before: Option<&Pod>,
    after: &Pod,
    namespaces: &Namespaces,
    settings: &FilterSettings,
) -> bool {
    let by_spread = settings.has(Filter::Spread) && is_spread_otherwise(shape, before, after, settings);
    by_spread || (settings.has(Filter::PodAffinity) && is_other_company(shape, before, after, namespaces))
}

/// Whether pods among which the pod is to be spread are more or fewer. Either may make the places more even.
fn is_spread_otherwise(shape: &Shape, before: Option<&Pod>, after: &Pod, settings: &FilterSettings) -> bool {
    let (selectors, namespace) = (shape.spread.iter().filter(|rule| rule.required), &shape.namespace);
    let mut selectors = selectors.map(|rule| &rule.selector);
    // Which pods count for rules of the configuration is up to services and owners.
    let by_default = shape.spread.is_empty() && settings.default_spread.iter().any(|rule| rule.required);
    by_default
        || selectors.any(|selector| {
            before.is_some_and(|before| is_counted(selector, namespace, before))
                != is_counted(selector, namespace, after)
        })
}

/// Whether a pod is one to be near now, or is not any more, or is none to be apart from any more. The first of pods that must be
/// near each other may go anywhere, so that also one pod fewer to be near may help.
fn is_other_company(shape: &Shape, before: Option<&Pod>, after: &Pod, namespaces: &Namespaces) -> bool {
    let terms = |terms: &[PodTerm]| -> Vec<OwnTerm> {
        terms.iter().map(|term| OwnTerm::new(term, namespaces)).collect()
    };
    let near = terms(&shape.near);
    let is_near = |pod: &Pod| !near.is_empty() && near.iter().all(|term| term.means(&pod.shape));
    let is_parted = || {
        let before = before.filter(|_| !shape.apart.is_empty());
        before.is_some_and(|before| {
            terms(&shape.apart).iter().any(|term| term.means(&before.shape) && !term.means(&after.shape))
        })
    };
    before.is_some_and(is_near) != is_near(after) || is_parted()
}

#[cfg(test)]
mod tests {
    use model::pod::{LabelSelector, Spread};

    use super::*;
    use crate::sample::{pod, shape, spread, term};

    const WEB: Option<&str> = Some("app=web");

    /// Whether a pod with a rule is helped by one with other labels than before.
    fn check(rules: &Shape, before: Option<&str>, after: &str, expected: bool) {
        let placed = |labels: &str| pod("p", "a", shape(labels));
        let before = before.map(placed);
        let settings = FilterSettings::default();
        let helped = is_helped(rules, before.as_ref(), &placed(after), &Namespaces::default(), &settings);
        assert_eq!(helped, expected, "{before:?} {after}");
    }

    #[test]
    fn a_pod_to_be_near_helps_when_it_comes_or_has_other_labels() {
        let near = |terms| Shape { near: terms, ..shape("") };
        let rules = near(vec![term("app=web", "host")]);
        check(&rules, None, "app=web", true);
        check(&rules, None, "app=db", false);
        check(&rules, Some("app=db"), "app=web", true);
        check(&rules, WEB, "app=db", true);
        check(&rules, WEB, "app=web tier=x", false);
        let both = near(vec![term("app=web", "host"), term("tier=x", "host")]);
        check(&both, None, "app=web", false);
        check(&both, None, "app=web tier=x", true);
    }

    #[test]
    fn a_pod_to_be_apart_from_helps_when_it_is_none_of_these_any_more() {
        let rules = Shape { apart: vec![term("app=web", "host")], ..shape("") };
        check(&rules, None, "app=web", false);
        check(&rules, None, "app=db", false);
        check(&rules, WEB, "app=db", true);
        check(&rules, Some("app=db"), "app=web", false);
    }

    #[test]
    fn a_pod_that_is_counted_otherwise_helps_those_that_are_spread() {
        let rules = Shape { spread: vec![spread(1, "host", "app=web")], ..shape("") };
        check(&rules, None, "app=web", true);
        check(&rules, None, "app=db", false);
        check(&rules, WEB, "app=db", true);
        check(&rules, WEB, "app=web tier=x", false);
        let (before, mut after) = (pod("p", "a", shape("app=web")), pod("p", "a", shape("app=web")));
        after.deleting = true;
        let settings = FilterSettings::default();
        assert!(is_helped(&rules, Some(&before), &after, &Namespaces::default(), &settings));
        check(&shape(""), None, "app=web", false);
    }

    #[test]
    fn any_pod_may_help_those_that_are_spread_among_companions() {
        let open = Spread { selector: LabelSelector::Nothing, ..spread(1, "host", "") };
        let settings = FilterSettings { default_spread: vec![open], ..FilterSettings::default() };
        let helped = |off: &[Filter]| {
            let settings = FilterSettings { off: off.iter().copied().collect(), ..settings.clone() };
            let placed = pod("p", "a", shape("app=web"));
            is_helped(&shape("app=web"), None, &placed, &Namespaces::default(), &settings)
        };
        assert!(helped(&[]) && !helped(&[Filter::Spread]));
    }
}
