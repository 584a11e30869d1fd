//! Every metric of a scheduler is moved by a notice.

use decisions::filters::Filter;
use decisions::gang::Tried;
use scheduler::queue::Tries;
use telemetry::metrics::Exposition;

use super::*;

const MS: Duration = Duration::from_millis(1);

/// The metrics that are not zero, after these were heard.
fn moved(notices: &[Notice<'_>]) -> BTreeSet<String> {
    let metrics = Arc::new(Metrics::default());
    let (watcher, _) = Watcher::new(metrics.clone(), Some("lease".to_owned()), Troubles::default());
    notices.iter().for_each(|notice| watcher.hear(notice));
    let text = metrics.text();
    let samples = text.lines().filter(|line| !line.starts_with('#') && !line.ends_with(" 0"));
    let name = |line: &str| {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        name.strip_suffix("_count").unwrap_or(name).to_owned()
    };
    samples.map(name).collect()
}

fn full() -> FilterSet {
    let mut filters = FilterSet::default();
    filters.insert(Filter::Resources);
    filters
}

fn evict(by: WritePreemptor) -> Write {
    let pod = Pod::default();
    Write::Evict { pod: pod.id, uid: pod.uid, scheduler: "s".into(), by }
}

#[test]
fn what_the_scheduler_says_moves_every_metric_but_those_that_are_told_otherwise() {
    let (pod, eviction) = (Pod::default(), evict(WritePreemptor::Pod));
    let bind = Write::Bind { pod: pod.id.clone(), uid: pod.uid.clone(), node: "n".into(), together: None };
    let tries = Tries { attempts: 1, since: None, after_flush: true };
    let news = GangNews {
        group: model::group::GroupId { namespace: "ns".into(), name: "g".into() },
        uid: "u".into(),
        scheduler: "s".into(),
        outcome: GangOutcome::Seated { members: 1 },
        tried: Tried { generated: 1, feasible: 1, infeasible: 0 },
        is_news: true,
    };
    let found = PreemptionOutcome::Found { pods: 2, units: 1, violations: 1 };
    let preemption = |by| Notice::Preemptions { news: PreemptionNews { by, outcome: found }, count: 1 };
    let counts = Counts { ready: 1, ..Counts::default() };
    let drivers = BTreeMap::from([((Await::Allocation, "d".into()), 1)]);
    let entities = BTreeMap::from([((Station::Ready, Entity::Group), 1)]);
    let heard = moved(&[
        Notice::State(&State::Working),
        Notice::TakenIn { event: "NodeUpdate", took: MS },
        Notice::Attempt { profile: "s", result: AttemptResult::Scheduled, took: MS },
        Notice::Gang { news: &news, took: Some(MS) },
        Notice::Bound { pod: &pod, node: "n", tries, waited: MS },
        Notice::Entities { counts: &entities },
        preemption(Entity::Pod),
        preemption(Entity::Group),
        Notice::Queued { station: Station::Ready, cause: Cause::Added, entity: Entity::Pod, count: 2 },
        Notice::Refused { pod: &pod, message: "", filters: full(), reasons: &["InsufficientCpu"] },
        Notice::DevicesDone { pod: &pod, outcome: ReadyOutcome::Success, waited: MS, drivers: &["d".into()] },
        Notice::Drivers { counts: &drivers },
        Notice::Considering { count: 1 },
        Notice::Considered { took: MS },
        Notice::Submitted { write: &bind },
        Notice::Submitted { write: &bind },
        Notice::Settled { write: &bind, profile: Some("s"), done: true, took: MS },
        Notice::Submitted { write: &eviction },
        Notice::Settled { write: &eviction, profile: None, done: true, took: MS },
        Notice::Held { nodes: 1, pods: 1, placing: 1 },
        Notice::Waiting { counts, placing: 0 },
    ]);
    let described = Metrics::default().described();
    let still: Vec<&str> =
        described.iter().map(|one| one.name).filter(|name| !heard.contains(*name)).collect();
    // These are told by the connection and by the command itself.
    let elsewhere = [
        "kubernetes_feature_enabled",
        "rest_client_rate_limiter_duration_seconds",
        "rest_client_request_duration_seconds",
        "rest_client_requests_total",
        "supercargo_scheduler_recording",
    ];
    assert_eq!(still, elsewhere);
}

#[test]
fn evictions_of_a_gang_that_is_let_go_are_no_preemptions() {
    for (by, counts) in [(WritePreemptor::Group, true), (WritePreemptor::OwnGang, false)] {
        let write = evict(by);
        let heard = moved(&[Notice::Settled { write: &write, profile: None, done: true, took: MS }]);
        assert_eq!(heard.contains("scheduler_preemption_execution_duration_seconds"), counts, "{by:?}");
    }
}
