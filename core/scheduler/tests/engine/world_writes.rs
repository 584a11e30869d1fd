//! What becomes of the writes of an engine in a world of tests: each is done or fails, and no more. How calls are made of them, and what
//! becomes of these, is tried with the engine in the tests of `api/scheduling`, where the protocol of writes is.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::{Change, NegotiationChange, StorageChange};
use cluster::contexts::PodContext;
use model::claim::{Claim, ClaimId, ClaimSpec};
use model::pod::Landing;
use model::volume::{Volume, VolumeClaim, VolumeOwner};
use scheduler::write::{Preemptor, Write, WriteOutcome};

use crate::world::{World, claim, claim_id, held, preparation};

impl World {
    /// What the API does with a write.
    pub fn apply(&mut self, write: &Write) -> WriteOutcome {
        let done = match write {
            Write::Allocate { claim, .. }
            | Write::Reserve { claim, .. }
            | Write::Release { claim, .. }
            | Write::Deallocate { claim, .. } => self.write_claim(claim, write),
            Write::MakeClaim { .. } | Write::DeleteClaim { .. } => self.make_or_delete(write),
            Write::Negotiate { .. } | Write::EndNegotiation { .. } => self.write_context(write),
            Write::BindVolume { .. } | Write::SelectNode { .. } => self.write_storage(write),
            _ => self.write_pod(write),
        };
        match done {
            Ok(()) => WriteOutcome::Done,
            Err(reason) => WriteOutcome::Failed(reason.to_owned()),
        }
    }

    /// Notes on a volume, or on a claim for one, what the scheduler wants.
    fn write_storage(&mut self, write: &Write) -> Result<(), &'static str> {
        let known = &self.engine.facts().volumes;
        self.revision += 1;
        let change = match write {
            Write::BindVolume { volume, claim, claim_uid, .. } => {
                let mut volume = Volume::clone(known.volume(volume).ok_or("not found")?);
                if volume.claim.as_ref().is_some_and(|owner| owner.id != *claim) {
                    return Err("it is for another claim");
                }
                volume.claim = Some(VolumeOwner { id: claim.clone(), uid: Some(claim_uid.clone()) });
                volume.revision = self.revision;
                StorageChange::VolumeApplied(Box::new(volume))
            }
            Write::SelectNode { claim, node, .. } => {
                let known = known.claim(&claim.namespace, &claim.name).ok_or("not found")?;
                let (selected_node, revision) = (Some(node.clone()), self.revision);
                let claim = VolumeClaim { selected_node, revision, ..VolumeClaim::clone(known) };
                StorageChange::VolumeClaimApplied(Box::new(claim))
            }
            other => unreachable!("{other:?} is about no volume"),
        };
        self.fact(Change::Storage(change));
        Ok(())
    }

    fn write_claim(&mut self, id: &ClaimId, write: &Write) -> Result<(), &'static str> {
        let known = self.claims.get_mut(id).ok_or("not found")?;
        match write {
            Write::Allocate { uid, allocation, shares, consumers, .. } => {
                if known.uid != *uid {
                    return Err("not found");
                }
                if known.allocation.is_some() {
                    return Err("it has devices already");
                }
                known.allocation = Some(Arc::new(held(id, allocation, shares)));
                known.preparation = preparation(allocation, self.now);
                known.reserved_for.extend(consumers.iter().map(|one| one.user()));
            }
            Write::Reserve { consumers, .. } => {
                known.reserved_for.extend(consumers.iter().map(|one| one.user()));
            }
            Write::Release { consumers, .. } => {
                known.reserved_for.retain(|uid| consumers.iter().all(|one| one.user() != *uid));
            }
            Write::Deallocate { user, .. } => {
                if known.reserved_for.iter().any(|uid| Some(uid) != user.as_ref()) {
                    return Err("it is in use");
                }
                known.reserved_for.clear();
                if known.control.controller.is_some() {
                    known.control.leaving = true;
                } else {
                    known.allocation = None;
                    known.preparation = None;
                }
            }
            other => unreachable!("{other:?} is about no claim that is there"),
        }
        self.revision += 1;
        known.version = self.revision.to_string().into();
        let state = known.clone();
        self.fact(Change::ClaimApplied(Box::new(state)));
        Ok(())
    }

    fn write_context(&mut self, write: &Write) -> Result<(), &'static str> {
        match write {
            Write::Negotiate { pod, uid, selected, potential } => {
                let version = self.next_version();
                let context = self.contexts.entry(pod.clone()).or_insert_with(|| PodContext {
                    pod: pod.clone(),
                    uid: format!("context-{version}").into(),
                    version: version.clone(),
                    owner: uid.clone(),
                    selected: None,
                    potential: Vec::new(),
                    answers: BTreeMap::new(),
                });
                if context.owner != *uid {
                    return Err("that of another pod");
                }
                (context.version, context.selected) = (version, selected.clone());
                context.potential.clone_from(potential);
                let context = Box::new(context.clone());
                self.fact(Change::Negotiation(NegotiationChange::Applied(context)));
            }
            Write::EndNegotiation { pod, .. } => {
                let gone = self.contexts.remove(pod).ok_or("not found")?;
                self.fact(Change::Negotiation(NegotiationChange::Gone(pod.clone(), gone.uid)));
            }
            other => unreachable!("{other:?} is about no context"),
        }
        Ok(())
    }

    fn make_or_delete(&mut self, write: &Write) -> Result<(), &'static str> {
        match write {
            Write::MakeClaim { pod, uid, spec, allocation, shares, .. } => {
                if !self.pods.contains_key(uid) {
                    return Err("not found");
                }
                self.made += 1;
                let name = format!("{}-made-{}", pod.name, self.made);
                let mut state = claim(&name);
                state.wish = Arc::new(Claim { id: claim_id(&name), spec: ClaimSpec::clone(spec) });
                state.allocation = Some(Arc::new(held(&claim_id(&name), allocation, shares)));
                state.reserved_for = vec![uid.into()];
                (state.owner, state.extended) = (Some(uid.into()), true);
                self.add_claim(state);
            }
            Write::DeleteClaim { claim, uid } => {
                if self.claims.get(claim).is_some_and(|known| known.uid == *uid) {
                    self.claims.remove(claim);
                    self.fact(Change::ClaimGone(claim.clone()));
                }
            }
            other => unreachable!("{other:?} makes and deletes nothing"),
        }
        Ok(())
    }

    fn write_pod(&mut self, write: &Write) -> Result<(), &'static str> {
        let changed = match write {
            Write::Bind { uid, node, together, .. } => {
                let pod = self.pods.get_mut(uid).ok_or("not found")?;
                pod.node = Some(node.clone());
                pod.landing = together.clone().map(|together| Landing { together, is_over: false });
                // What was noted counts like what the pod asks for.
                for claim in self.notes.get(uid).into_iter().flatten() {
                    let amounts = claim.mapping.get("cpu").into_iter();
                    let overhead = claim.overhead.get("cpu").and_then(|(per_pod, _)| per_pod.as_ref());
                    for amount in amounts.chain(overhead) {
                        Arc::make_mut(&mut pod.shape).requests.cpu_milli += amount.milli_value();
                    }
                }
                pod.nominated_node = None;
                pod
            }
            Write::Nominate { uid, node, .. } => {
                let pod = self.pods.get_mut(uid).ok_or("not found")?;
                pod.nominated_node = node.clone();
                pod
            }
            Write::Evict { uid, by, .. } if self.lingering => {
                let pod = self.pods.get_mut(uid).ok_or("not found")?;
                pod.deleting = true;
                let marked = pod.landing.as_mut().filter(|_| *by == Preemptor::OwnGang);
                marked.into_iter().for_each(|landing| landing.is_over = true);
                pod
            }
            Write::Evict { pod, .. } => {
                self.let_go(&pod.name);
                return Ok(());
            }
            Write::Note { uid, reason, message, .. } => {
                self.conditions.insert(uid.clone(), (*reason, message.clone()));
                return Ok(());
            }
            Write::NoteResources { uid, claims, .. } => {
                self.notes.insert(uid.clone(), claims.clone());
                return Ok(());
            }
            _ => return Ok(()),
        };
        let pod = Arc::new(changed.clone());
        self.fact(Change::PodApplied(pod));
        Ok(())
    }
}
