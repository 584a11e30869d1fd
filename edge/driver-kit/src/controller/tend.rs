//! What is done about one claim or one pod: calls of the driver, and writes in an order that leaves nothing behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use client::{Answer, Connection, Resource, reference};
use controllers::classic::{self, Grant};
use objects::Object;
use objects::core::event::ObjectReference;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::control::Form;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

use super::attend::caught;
use super::known::{Name, name_of};
use super::{ClaimRequest, Controller};

/// How often an answer is written when others write to the same context.
const TRIES: u32 = 5;

/// Something to be done.
pub(super) enum Case {
    /// Read the pod of a context.
    ReadPod(Arc<PodSchedulingContext>),
    /// Judge nodes for claims of a pod, and give devices if one is chosen that will do.
    Negotiate {
        context: Arc<PodSchedulingContext>,
        pod: Arc<Pod>,
        requests: Vec<ClaimRequest>,
        forms: Vec<Form>,
    },
    /// Give devices to a claim whoever will use it.
    GiveAtOnce(Box<ClaimRequest>, Form),
    /// Take the devices of a claim back.
    TakeBack(Arc<ResourceClaim>),
}

impl Case {
    /// The object that it is about.
    pub(super) fn about(&self) -> ObjectReference {
        match self {
            Case::ReadPod(context) => reference(&**context),
            Case::Negotiate { pod, .. } => reference(&**pod),
            Case::GiveAtOnce(request, _) => reference(&request.claim),
            Case::TakeBack(claim) => reference(&**claim),
        }
    }

    /// The claims that the driver is asked about.
    pub(super) fn claims(&self) -> Vec<Name> {
        match self {
            Case::ReadPod(_) => Vec::new(),
            Case::Negotiate { requests, .. } => requests.iter().map(|one| name_of(&one.claim)).collect(),
            Case::GiveAtOnce(request, _) => vec![name_of(&request.claim)],
            Case::TakeBack(claim) => vec![name_of(&**claim)],
        }
    }
}

/// What came of it.
#[derive(Default)]
pub(super) struct Found {
    /// Claims as they are now.
    pub(super) claims: Vec<ResourceClaim>,
    /// The context as it is now.
    pub(super) context: Option<PodSchedulingContext>,
    /// The pod of a context, if something is to be done for it.
    pub(super) pod: Option<(Arc<PodSchedulingContext>, Arc<Pod>)>,
    /// It is to be looked at again after a while.
    pub(super) is_open: bool,
    /// Devices were taken back.
    pub(super) is_freed: bool,
}

/// Why something was not done; it is tried again.
pub(super) struct Trouble {
    pub(super) about: Box<ObjectReference>,
    pub(super) why: String,
    /// Claims that were written before that.
    pub(super) learnt: Vec<ResourceClaim>,
}

/// What tasks need.
pub(super) struct Tools<C> {
    pub(super) connection: Connection,
    pub(super) controller: Arc<C>,
}

impl<C> Clone for Tools<C> {
    fn clone(&self) -> Self {
        Self { connection: self.connection.clone(), controller: self.controller.clone() }
    }
}

impl<C: Controller> Tools<C> {
    pub(super) async fn see_to(&self, case: Case) -> Result<Found, Trouble> {
        match case {
            Case::ReadPod(context) => self.read_pod(context).await,
            Case::Negotiate { context, pod, requests, forms } => {
                self.negotiate(&context, &pod, requests, &forms).await
            }
            Case::GiveAtOnce(request, form) => {
                let claims = self.give(vec![*request], &[form], None, None).await?;
                Ok(Found { claims, ..Found::default() })
            }
            Case::TakeBack(claim) => self.take_back(&claim).await,
        }
    }

    /// Only the server can say that a pod is still there.
    async fn read_pod(&self, context: Arc<PodSchedulingContext>) -> Result<Found, Trouble> {
        let metadata = &context.metadata;
        let pods = Resource::<Pod>::named("pods").within(&metadata.namespace);
        match self.connection.get(&pods, &metadata.name).await {
            Answer::Done(pod) if classic::is_open(&context, &pod) => {
                Ok(Found { pod: Some((context, Arc::new(pod))), ..Found::default() })
            }
            Answer::Done(_) | Answer::NotFound(_) => Ok(Found::default()),
            other => Err(failed(&*context, other.trouble().unwrap_or_default())),
        }
    }

    async fn negotiate(
        &self,
        context: &PodSchedulingContext,
        pod: &Pod,
        requests: Vec<ClaimRequest>,
        forms: &[Form],
    ) -> Result<Found, Trouble> {
        let entry = |request: &ClaimRequest| request.entry.clone().unwrap_or_default();
        let entries: Vec<String> = requests.iter().map(entry).collect();
        let nodes = classic::nodes_to_judge(context, &entries.iter().map(String::as_str).collect());
        let judged = self.controller.unsuitable_nodes(pod, &requests, &nodes).await;
        let judged = judged.map_err(|why| failed(pod, why.to_string()))?;
        all_answered(judged.len(), requests.len(), "judge nodes").map_err(|why| failed(pod, why))?;
        let unsuitable: BTreeMap<String, BTreeSet<String>> = entries.into_iter().zip(judged).collect();
        let selected = context.spec.selected_node.as_str();
        let will_do = !selected.is_empty() && !unsuitable.values().any(|nodes| nodes.contains(selected));
        if !will_do {
            let context = self.answer(context, &unsuitable).await?;
            return Ok(Found { context, is_open: true, ..Found::default() });
        }
        if classic::was_unsuitable(context, selected, &unsuitable) {
            // Who still reads that the chosen node will not do would ask back what is given for it.
            self.answer(context, &unsuitable).await?;
        }
        match self.give(requests, forms, Some(selected), Some(pod)).await {
            Ok(claims) => Ok(Found { claims, ..Found::default() }),
            Err(trouble) => {
                // What is known of nodes is said all the same: another may do.
                let _ = self.answer(context, &unsuitable).await;
                Err(trouble)
            }
        }
    }

    /// Says which nodes will not do, if that is news.
    async fn answer(
        &self,
        context: &PodSchedulingContext,
        unsuitable: &BTreeMap<String, BTreeSet<String>>,
    ) -> Result<Option<PodSchedulingContext>, Trouble> {
        let metadata = &context.metadata;
        let contexts = Resource::<PodSchedulingContext>::named("podschedulingcontexts");
        let contexts = contexts.within(&metadata.namespace);
        let mut current = context.clone();
        let mut why = String::new();
        for _ in 0..TRIES {
            let Some(answered) = classic::answer(&current, unsuitable) else { return Ok(None) };
            match self.connection.update_status(&contexts, &answered).await {
                Answer::Done(written) => return Ok(Some(written)),
                // It is over.
                Answer::NotFound(_) => return Ok(None),
                Answer::Conflict(message) => why = message,
                other => return Err(failed(context, other.trouble().unwrap_or_default())),
            }
            current = match self.connection.get(&contexts, &metadata.name).await {
                Answer::Done(found) if found.metadata.uid == metadata.uid => found,
                Answer::Done(_) | Answer::NotFound(_) => return Ok(None),
                other => return Err(failed(context, other.trouble().unwrap_or_default())),
            };
        }
        Err(failed(context, why))
    }

    /// Gives devices to claims: they are protected first, and reserved for their pod at once.
    async fn give(
        &self,
        mut requests: Vec<ClaimRequest>,
        forms: &[Form],
        node: Option<&str>,
        pod: Option<&Pod>,
    ) -> Result<Vec<ResourceClaim>, Trouble> {
        let name = self.controller.name();
        let mut learnt: Vec<ResourceClaim> = Vec::new();
        for (request, form) in requests.iter_mut().zip(forms) {
            if let Some(protected) = classic::described(&request.claim, name, &Grant::default(), *form) {
                request.claim = self.update(&protected, false, &mut learnt).await?;
            }
        }
        // What was written before is known also if the driver panics.
        let grants = match caught(async { self.controller.allocate(&requests, node).await }).await {
            Ok(grants) => all_answered(grants.len(), requests.len(), "allocate them").map(|()| grants),
            Err(panic) => Err(panic),
        };
        let grants = match (grants, requests.first()) {
            (Ok(grants), _) => grants,
            (Err(why), Some(first)) => return Err(Trouble { learnt, ..Trouble::of(&first.claim, why) }),
            (Err(_), None) => return Ok(learnt),
        };
        let mut trouble = None;
        for ((request, form), grant) in requests.iter().zip(forms).zip(grants) {
            let claim = &request.claim;
            let grant = match grant {
                Ok(grant) => grant,
                Err(why) => {
                    trouble.get_or_insert_with(|| Trouble::of(claim, why.to_string()));
                    continue;
                }
            };
            let claim = match classic::described(claim, name, &grant, *form) {
                Some(described) => self.update(&described, false, &mut learnt).await?,
                None => claim.clone(),
            };
            let given = classic::given(&claim, name, grant, *form, pod);
            self.update(&given, true, &mut learnt).await?;
        }
        match trouble {
            Some(trouble) => Err(Trouble { learnt, ..trouble }),
            None => Ok(learnt),
        }
    }

    async fn take_back(&self, claim: &ResourceClaim) -> Result<Found, Trouble> {
        let taken = self.controller.deallocate(claim).await;
        taken.map_err(|why| Trouble::of(claim, why.to_string()))?;
        let mut learnt = Vec::new();
        let mut current = claim.clone();
        if let Some(freed) = classic::freed(&current) {
            current = self.update(&freed, true, &mut learnt).await?;
        }
        if let Some(free) = classic::unprotected(&current, self.controller.name()) {
            self.update(&free, false, &mut learnt).await?;
        }
        Ok(Found { claims: learnt, is_freed: true, ..Found::default() })
    }

    async fn update(
        &self,
        claim: &ResourceClaim,
        status: bool,
        learnt: &mut Vec<ResourceClaim>,
    ) -> Result<ResourceClaim, Trouble> {
        let claims = Resource::<ResourceClaim>::named("resourceclaims").within(&claim.metadata.namespace);
        let answer = if status {
            self.connection.update_status(&claims, claim).await
        } else {
            self.connection.update(&claims, claim).await
        };
        match answer {
            Answer::Done(written) => {
                learnt.push(written.clone());
                Ok(written)
            }
            other => {
                let why = other.trouble().unwrap_or_default();
                Err(Trouble { learnt: std::mem::take(learnt), ..Trouble::of(claim, why) })
            }
        }
    }
}

/// A claim about which the driver says nothing would wait without a word.
fn all_answered(answers: usize, claims: usize, what: &str) -> Result<(), String> {
    let is_all = answers == claims;
    let why = || format!("the driver answered for {answers} of {claims} claims, to {what}");
    is_all.then_some(()).ok_or_else(why)
}

fn failed<K: Object>(object: &K, why: String) -> Trouble {
    Trouble { about: Box::new(reference(object)), why, learnt: Vec::new() }
}
