"""A session of the Python client `kubernetes` against the server of KUBECONFIG.

Prints a line for each step and `N passed, N failed` last; says `skipped: ...` and ends well when the client is not
installed (`pip install kubernetes`).
"""

import sys
import threading
import time
import traceback

try:
    from kubernetes import client, config, dynamic, watch
    from kubernetes.client.rest import ApiException
    from kubernetes.leaderelection import electionconfig, leaderelection
    from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
except ImportError as missing:
    print(f"skipped: the Python client is not installed ({missing}); hint: pip install kubernetes")
    sys.exit(0)

NAMESPACE = "python"


def refused(status, action):
    """Runs an action that the server must refuse with a status, and returns what it said."""
    try:
        action()
    except ApiException as error:
        assert error.status == status, f"refused with {error.status}, not {status}: {error.body}"
        return error
    raise AssertionError(f"was not refused with {status}")


def settings(name, **data):
    return client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name=name, labels={"app": "session"}), data=data or {"colour": "blue"}
    )


def versions():
    assert client.VersionApi().get_code().major == "1"
    groups = {group.name for group in client.ApisApi().get_api_versions().groups}
    assert {"apps", "batch", "coordination.k8s.io", "resource.k8s.io"} <= groups, groups


def namespaces():
    core = client.CoreV1Api()
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    assert core.read_namespace(NAMESPACE).status.phase == "Active"
    assert NAMESPACE in {item.metadata.name for item in core.list_namespace().items}
    refused(409, lambda: core.create_namespace({"metadata": {"name": NAMESPACE}}))


def lists_and_pages():
    core = client.CoreV1Api()
    for number in range(7):
        core.create_namespaced_config_map(NAMESPACE, settings(f"page-{number}"))
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, limit=3, _continue=token, label_selector="app=session")
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            break
        assert len(page.items) == 3
    assert names == [f"page-{number}" for number in range(7)], names
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="app=session")
    assert core.list_namespaced_config_map(NAMESPACE, label_selector="app=session").items == []


def watches():
    core = client.CoreV1Api()
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def act():
        core.create_namespaced_config_map(NAMESPACE, settings("watched"))
        core.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"colour": "red"}})
        core.delete_namespaced_config_map("watched", NAMESPACE)

    actor = threading.Thread(target=act)
    actor.start()
    seen = []
    stream = watch.Watch()
    for event in stream.stream(
        core.list_namespaced_config_map, NAMESPACE, resource_version=start, label_selector="app=session", timeout_seconds=10
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            stream.stop()
    actor.join()
    assert seen == [("ADDED", "watched"), ("MODIFIED", "watched"), ("DELETED", "watched")], seen


def a_watch_ends_when_it_was_asked_to():
    began = time.monotonic()
    core = client.CoreV1Api()
    for _ in watch.Watch().stream(core.list_namespaced_config_map, NAMESPACE, timeout_seconds=1):
        pass
    assert time.monotonic() - began < 5


def patches():
    core = client.CoreV1Api()
    core.create_namespaced_config_map(NAMESPACE, settings("patched", colour="blue", size="L"))
    patch = core.patch_namespaced_config_map
    # A dict is sent as a strategic merge patch, a list as a JSON patch.
    assert patch("patched", NAMESPACE, {"data": {"colour": "red"}}).data == {"colour": "red", "size": "L"}
    steps = [{"op": "test", "path": "/data/colour", "value": "red"}, {"op": "remove", "path": "/data/size"}]
    assert patch("patched", NAMESPACE, steps).data == {"colour": "red"}
    refused(422, lambda: patch("patched", NAMESPACE, [{"op": "test", "path": "/data/colour", "value": "white"}]))
    resource = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")

    def send(body, content_type, **options):
        return resource.patch(body=body, name="patched", namespace=NAMESPACE, content_type=content_type, **options)

    merged = send({"data": {"colour": None, "size": "S"}}, "application/merge-patch+json")
    assert merged.data.to_dict() == {"size": "S"}, merged.data
    send({"metadata": {"labels": {"app": None}}}, "application/strategic-merge-patch+json")
    assert core.read_namespaced_config_map("patched", NAMESPACE).metadata.labels is None


def strategic_merge_joins_lists_by_their_keys():
    core = client.CoreV1Api()
    containers = [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}]
    core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": "two"}, "spec": {"containers": containers}})
    pod = core.patch_namespaced_pod("two", NAMESPACE, {"spec": {"containers": [{"name": "b", "image": "y:2"}]}})
    assert {c.name: c.image for c in pod.spec.containers} == {"a": "x:1", "b": "y:2"}
    core.patch_namespaced_pod_status("two", NAMESPACE, {"status": {"phase": "Running"}})
    running = core.list_pod_for_all_namespaces(field_selector="status.phase=Running").items
    assert [pod.metadata.name for pod in running] == ["two"]
    core.delete_namespaced_pod("two", NAMESPACE, grace_period_seconds=0)
    refused(404, lambda: core.read_namespaced_pod("two", NAMESPACE))


def server_side_apply():
    resource = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"colour": "blue"}}

    def apply(manager, colour, **options):
        body = {**wanted, "data": {"colour": colour}}
        return resource.server_side_apply(body=body, namespace=NAMESPACE, field_manager=manager, **options)

    apply("first", "blue")
    said = refused(409, lambda: apply("second", "red"))
    assert "first" in str(said.body), said.body
    assert apply("second", "red", force_conflicts=True).data.colour == "red"


def conflicts():
    core = client.CoreV1Api()
    ours = core.create_namespaced_config_map(NAMESPACE, settings("contended"))
    theirs = core.read_namespaced_config_map("contended", NAMESPACE)
    theirs.data["colour"] = "red"
    core.replace_namespaced_config_map("contended", NAMESPACE, theirs)
    ours.data["colour"] = "green"
    refused(409, lambda: core.replace_namespaced_config_map("contended", NAMESPACE, ours))
    ours.metadata.resource_version = core.read_namespaced_config_map("contended", NAMESPACE).metadata.resource_version
    assert core.replace_namespaced_config_map("contended", NAMESPACE, ours).data == {"colour": "green"}
    wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="00000000-0000-0000-0000-000000000000"))
    refused(409, lambda: core.delete_namespaced_config_map("contended", NAMESPACE, body=wrong))


def devices():
    resources = client.ResourceV1Api()
    request = {"name": "gpus", "exactly": {"deviceClassName": "gpu", "count": 2}}
    claim = {"metadata": {"generateName": "claim-"}, "spec": {"devices": {"requests": [request]}}}
    made = resources.create_namespaced_resource_claim(NAMESPACE, claim)
    assert made.metadata.name.startswith("claim-") and len(made.metadata.name) == 11
    assert made.spec.devices.requests[0].exactly.allocation_mode == "ExactCount"
    bad = {"metadata": {"name": "bad"}, "spec": {"devices": {"requests": [{"name": "no dns label"}]}}}
    refused(422, lambda: resources.create_namespaced_resource_claim(NAMESPACE, bad))


def leader_election():
    """Two candidates for one Lease: the first leads, and the second takes over once the first has stopped."""
    led, stop_first = [], threading.Event()

    def candidate(name, on_start):
        lock = LeaseLock("leader", NAMESPACE, name)
        return electionconfig.Config(
            lock, lease_duration=3, renew_deadline=2, retry_period=1, onstarted_leading=on_start, onstopped_leading=None
        )

    class Stopped(Exception):
        pass

    def first_leads():
        led.append("first")

    def run(name, on_start, until):
        election = leaderelection.LeaderElection(candidate(name, on_start))
        renew = election.try_acquire_or_renew

        def unless_stopped():
            if until is not None and until.is_set():
                raise Stopped
            return renew()

        election.try_acquire_or_renew = unless_stopped
        try:
            election.run()
        except Stopped:
            pass

    second_led = threading.Event()

    def second_leads():
        led.append("second")
        second_led.set()

    threading.Thread(target=run, args=("first", first_leads, stop_first), daemon=True).start()
    time.sleep(2)
    threading.Thread(target=run, args=("second", second_leads, None), daemon=True).start()
    time.sleep(2)
    assert led == ["first"], led
    leases = client.CoordinationV1Api()
    assert leases.read_namespaced_lease("leader", NAMESPACE).spec.holder_identity == "first"
    stop_first.set()
    assert second_led.wait(20), "nobody took over"
    assert led == ["first", "second"], led
    assert leases.read_namespaced_lease("leader", NAMESPACE).spec.holder_identity == "second"


def leases_change_hands_once():
    """What an election rests on: of two updates from the same version only one is made."""
    leases = client.CoordinationV1Api()
    made = leases.create_namespaced_lease(
        NAMESPACE, {"metadata": {"name": "raced"}, "spec": {"holderIdentity": "nobody", "leaseDurationSeconds": 15}}
    )
    results = []

    def take(name):
        try:
            lease = {
                "metadata": {"name": "raced", "resourceVersion": made.metadata.resource_version},
                "spec": {"holderIdentity": name, "leaseDurationSeconds": 15},
            }
            client.CoordinationV1Api(client.ApiClient()).replace_namespaced_lease("raced", NAMESPACE, lease)
            results.append(200)
        except ApiException as error:
            results.append(error.status)

    takers = [threading.Thread(target=take, args=(f"taker-{number}",)) for number in range(8)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert sorted(results) == [200] + [409] * 7, results


def a_namespace_that_is_deleted_takes_nothing_new():
    core = client.CoreV1Api()
    core.delete_namespace(NAMESPACE)
    # 403 while it goes, 404 once it is gone.
    try:
        core.create_namespaced_config_map(NAMESPACE, settings("late"))
    except ApiException as error:
        assert error.status in (403, 404), error
        return
    raise AssertionError("something was made in a namespace that is going")


STEPS = [
    versions,
    namespaces,
    lists_and_pages,
    watches,
    a_watch_ends_when_it_was_asked_to,
    patches,
    strategic_merge_joins_lists_by_their_keys,
    server_side_apply,
    conflicts,
    devices,
    leases_change_hands_once,
    leader_election,
    a_namespace_that_is_deleted_takes_nothing_new,
]


def main():
    config.load_kube_config()
    failed = 0
    for step in STEPS:
        try:
            step()
            print(f"ok      {step.__name__.replace('_', ' ')}")
        except Exception:  # Whatever goes wrong in a step is that step's failure, and the next one runs.
            failed += 1
            print(f"FAILED  {step.__name__.replace('_', ' ')}")
            traceback.print_exc()
    print(f"{len(STEPS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
