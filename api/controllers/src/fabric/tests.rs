//! A fabric, an API and a plain scheduler made of values, and what must hold whatever happens between any two actions.
//!
//! The design of composable controllers in the earlier revision of KEP-5007, statement by statement:
//!
//! | what it says | test |
//! |---|---|
//! | free devices only, by the vendor's driver, for the fabric's nodes; by model, with names that are no identities | `free_devices_are_published_by_model_and_have_no_identity` |
//! | looked at periodically; new devices appear | `what_is_plugged_in_or_pulled_out_appears_or_goes_at_the_next_look` |
//! | attached to the node of the claim's selector, then the condition is True | `a_claim_has_a_device_of_its_model_attached_to_its_node` |
//! | the concrete device is unknown until then | `a_device_leaves_the_free_pool_when_it_is_attached_and_its_name_is_not_given_again` |
//! | a failure is a failure condition | `a_refused_attachment_is_a_failure_with_its_reason` |
//! | after success the pod may be sent round to its node's device | `a_pod_that_picks_again_ends_on_the_device_that_was_attached_for_it` |
//! | the same device in several clusters | `losing_a_device_to_another_cluster_fails_the_claim_and_the_next_try_takes_another` |
//! | leftovers are used again or detached | `idle_devices_are_offered_again_and_detached_after_ten_minutes` |

mod finding;
mod handing;
mod offering;
mod restarts;
mod world;
