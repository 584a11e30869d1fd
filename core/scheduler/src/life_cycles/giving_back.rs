//! Claims that are to give their devices back, or to be deleted: one request each, for one pod or for none. From the moment in which a
//! request is made until the API has answered, no other pod gets the claim.
//!
//! | | Unselected | Answered | InUse | Gone |
//! |---|---|---|---|---|
//! | Unselecting | Asked | over | over | over |
//! | Asked | - | over | over | over |
//!
//! Whether a claim gives its devices back, and why, is decided in `decisions::giving_back`. What a driver's controller gave is asked
//! back when no node is selected for the pod any more: the driver would give the claim devices for it again.

use std::collections::BTreeMap;

use model::claim::ClaimId;
use model::identity::ConsumerUid;

use crate::write::WriteId;

/// Claims that are to give their devices back.
#[derive(Debug)]
pub(crate) struct Request {
    /// Those that have not been answered for.
    pub claims: Vec<ClaimId>,
    /// The pod or the group for which they do, by uid.
    pub user: Option<ConsumerUid>,
    stage: GivingBackStage,
}

/// How far a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GivingBackStage {
    /// The node that is selected for the pod is being taken away first.
    Unselecting,
    /// The write for the claims is not answered.
    Asked,
    /// It is answered, or is none any more.
    Over,
}

/// What happens to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    /// No node is selected for the pod any more.
    Unselected,
    /// The write is answered.
    Answered,
    /// Another pod uses the last of the claims by now.
    InUse,
    /// The last of the claims is gone.
    Gone,
}

fn step(stage: GivingBackStage, event: Event) -> Option<GivingBackStage> {
    match (stage, event) {
        (GivingBackStage::Unselecting, Event::Unselected) => Some(GivingBackStage::Asked),
        (
            GivingBackStage::Unselecting | GivingBackStage::Asked,
            Event::Answered | Event::InUse | Event::Gone,
        ) => Some(GivingBackStage::Over),
        (GivingBackStage::Asked, Event::Unselected) | (GivingBackStage::Over, _) => None,
    }
}

impl Request {
    fn step(&mut self, event: Event) {
        let next = step(self.stage, event);
        debug_assert!(
            next.is_some(),
            "claims {:?} were {:?} and were told {event:?}",
            self.claims,
            self.stage
        );
        self.stage = next.unwrap_or(self.stage);
    }
}

/// All requests, by the write whose answer is waited for.
#[derive(Debug, Default)]
pub(crate) struct GivingBack(BTreeMap<WriteId, Request>);

impl GivingBack {
    /// Claims are asked for by a write.
    pub fn ask(&mut self, write: WriteId, claim: ClaimId, user: Option<ConsumerUid>) {
        let request = Request { claims: vec![claim], user, stage: GivingBackStage::Asked };
        let before = self.0.insert(write, request);
        debug_assert!(before.is_none(), "a write is submitted once");
    }

    /// A claim will be asked for once this write has taken the selected node of a pod away.
    pub fn ask_after(&mut self, write: WriteId, claim: ClaimId, user: &ConsumerUid) {
        let new =
            || Request { claims: Vec::new(), user: Some(user.clone()), stage: GivingBackStage::Unselecting };
        let request = self.0.entry(write).or_insert_with(new);
        debug_assert_eq!(request.stage, GivingBackStage::Unselecting, "it is asked for already");
        request.claims.push(claim);
    }

    /// No node is selected any more: the claims of a request are to be asked for now.
    pub fn unselected(&mut self, write: WriteId) -> Option<Request> {
        let mut request = self.0.remove(&write)?;
        request.step(Event::Unselected);
        Some(request)
    }

    /// A write is answered, and the request is over.
    pub fn answered(&mut self, write: WriteId) -> Option<Request> {
        let mut request = self.0.remove(&write)?;
        request.step(Event::Answered);
        Some(request)
    }

    /// All claims that are to give devices back, or to go.
    pub fn claims(&self) -> impl Iterator<Item = &ClaimId> {
        self.0.values().flat_map(|request| &request.claims)
    }

    /// Other pods use a claim than those for which it was to give its devices back, and says whether it was for one.
    pub fn in_use(&mut self, claim: &ClaimId, users: &[ConsumerUid]) -> bool {
        let is_other = |user: Option<&ConsumerUid>| users.iter().any(|one| Some(one) != user);
        self.drop_where(claim, Event::InUse, is_other)
    }

    /// A claim that is gone has nothing to give back, and another of its name is none of it.
    pub fn gone(&mut self, claim: &ClaimId) {
        self.drop_where(claim, Event::Gone, |_| true);
    }

    /// Whether a claim is about to give its devices back, or to go.
    pub fn has(&self, claim: &ClaimId) -> bool {
        self.0.values().any(|request| request.claims.contains(claim))
    }

    /// Whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn drop_where(
        &mut self,
        claim: &ClaimId,
        event: Event,
        is_so: impl Fn(Option<&ConsumerUid>) -> bool,
    ) -> bool {
        let mut was_asked = false;
        self.0.retain(|_, request| {
            if !request.claims.contains(claim) || !is_so(request.user.as_ref()) {
                return true;
            }
            was_asked = true;
            request.claims.retain(|known| known != claim);
            if request.claims.is_empty() {
                request.step(event);
            }
            request.stage != GivingBackStage::Over
        });
        was_asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life_cycles::table;

    fn claim(name: &str) -> ClaimId {
        ClaimId { namespace: "default".into(), name: name.into() }
    }

    #[test]
    fn the_table_in_the_header_is_what_the_code_does() {
        let events = [Event::Unselected, Event::Answered, Event::InUse, Event::Gone];
        let names = events.map(|event| format!("{event:?}"));
        let rows = [GivingBackStage::Unselecting, GivingBackStage::Asked].map(|stage| {
            let after = |event| match step(stage, event) {
                None => "-".to_owned(),
                Some(GivingBackStage::Over) => "over".to_owned(),
                Some(next) => format!("{next:?}"),
            };
            (format!("{stage:?}"), events.map(after).to_vec())
        });
        table::assert_is_so(include_str!("giving_back.rs"), &names.each_ref().map(|name| &**name), &rows);
    }

    #[test]
    fn a_claim_that_another_pod_uses_is_asked_for_no_more_and_others_of_the_request_are() {
        let (mut all, pod): (_, ConsumerUid) = (GivingBack::default(), "pod".into());
        all.ask_after(WriteId(1), claim("a"), &pod);
        all.ask_after(WriteId(1), claim("b"), &pod);
        assert!(!all.in_use(&claim("a"), std::slice::from_ref(&pod)), "it is for that pod");
        assert!(all.in_use(&claim("a"), &[pod.clone(), "other".into()]));
        assert!(!all.has(&claim("a")) && all.has(&claim("b")));
        let request = all.unselected(WriteId(1)).expect("b is to be asked for");
        assert_eq!((request.claims, request.user), (vec![claim("b")], Some(pod)));
        all.ask(WriteId(2), claim("b"), None);
        all.gone(&claim("b"));
        assert!(all.is_empty() && all.answered(WriteId(2)).is_none());
    }
}
