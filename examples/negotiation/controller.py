#!/usr/bin/env python3
"""A driver's controller without the kit: it lends so many devices on each node. Standard library only.

    controller.py --driver lender.example.com --stock n1=2,n2=1

In a pod it uses the account of the pod. Elsewhere, run `kubectl proxy` and add `--server http://127.0.0.1:8001`. The order of writes is explained
in docs/guides/negotiation-protocol.md. Everything follows from the objects of the API server: the controller may be stopped at any moment.
"""
import argparse, collections, json, pathlib, ssl, sys, time, urllib.error, urllib.request

OURS = "supercargo.dev/"
CONTEXTS = "/apis/supercargo.dev/v1alpha1"
RESOURCES = "/apis/resource.k8s.io/v1"
NODES_MAX = 128  # the server refuses a longer list


class Api:
    def __init__(self, server, account):
        self.server, self.token = server, pathlib.Path(account, "token")
        self.tls = ssl.create_default_context(cafile=f"{account}/ca.crt") if server.startswith("https:") else None

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.tls:  # the token is read each time, because it is renewed
            headers["Authorization"] = "Bearer " + self.token.read_text().strip()
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.server + path, data, headers, method=method)
        with urllib.request.urlopen(request, context=self.tls, timeout=30) as answer:
            return json.load(answer)

    def put(self, base, plural, thing, part=""):
        """Replaces the version that was read, and no other: after a conflict the next round reads again."""
        meta = thing["metadata"]
        return self.call("PUT", f"{base}/namespaces/{meta['namespace']}/{plural}/{meta['name']}{part}", thing)


def warn(what):
    print("warning:", what, file=sys.stderr, flush=True)


def name_of(claim):
    return claim["metadata"]["namespace"], claim["metadata"]["name"]


def noted(thing, key):
    return thing["metadata"].get("annotations", {}).get(OURS + key, "")


def is_leaving(claim):
    asked = claim["status"].get("deallocationRequested") or noted(claim, "deallocation-requested") == "true"
    return bool(asked) or "deletionTimestamp" in claim["metadata"]


def is_immediate(claim):
    return (claim["spec"].get("allocationMode") or noted(claim, "allocation-mode")) == "Immediate"


class Controller:
    def __init__(self, api, driver, stock):
        self.api, self.driver, self.stock = api, driver, stock
        self.finalizer = driver + "/deletion-protection"

    def round(self):
        """Looks at everything once. The next round repeats what failed in this one."""
        items = lambda path: self.api.call("GET", path)["items"]
        self.classes = {one["metadata"]["name"]: one for one in items(RESOURCES + "/deviceclasses")}
        self.claims, self.wanted = {}, set()
        for claim in items(RESOURCES + "/resourceclaims"):
            self.keep(claim)
        for context in items(CONTEXTS + "/podschedulingcontexts"):
            self.attempt(self.negotiate, context)
        for claim in list(self.claims.values()):
            self.attempt(self.tend, claim)

    def attempt(self, what, thing):
        try:
            what(thing)
        except urllib.error.HTTPError as error:
            if error.code not in (404, 409):  # the object is gone, or was changed meanwhile
                warn(f"{error.code}: {error.read().decode()[:300]}")

    def keep(self, claim):
        claim.setdefault("status", {})
        self.claims[name_of(claim)] = claim
        return claim

    def form(self, claim):
        """How a claim of this driver is written, in fields or annotations; None if a class of it names another controller or none."""
        forms = set()
        for request in claim["spec"]["devices"].get("requests", []):
            found = self.classes.get(request.get("exactly", {}).get("deviceClassName"))
            field = found and found["spec"].get("controllerName")
            if not found or (field or noted(found, "controller-name")) != self.driver:
                return None
            forms.add("fields" if field else "annotations")
        return min(forms, default=None)

    def free(self):
        """How many devices are left on each node. What claims have is in their results."""
        left = collections.Counter(self.stock)
        for claim in self.claims.values():
            results = claim["status"].get("allocation", {}).get("devices", {}).get("results", [])
            left.subtract(one["pool"] for one in results if one["driver"] == self.driver)
        return left

    def negotiate(self, context):
        """Answers for a pod, and allocates its claims when its node is selected."""
        meta, space = context["metadata"], context["metadata"]["namespace"]
        pod = self.api.call("GET", f"/api/v1/namespaces/{space}/pods/{meta['name']}")
        status, owners = pod.get("status", {}), [one["uid"] for one in meta.get("ownerReferences", []) if one.get("controller")]
        is_over = status.get("phase") in ("Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]
        if is_over or pod["metadata"]["uid"] not in owners:
            return
        made = {one["name"]: one.get("resourceClaimName") for one in status.get("resourceClaimStatuses", [])}
        wanted = {}
        for entry in pod["spec"].get("resourceClaims", []):
            claim = self.claims.get((space, entry.get("resourceClaimName") or made.get(entry["name"])))
            is_open = claim and "allocation" not in claim["status"] and not is_leaving(claim) and not is_immediate(claim)
            if is_open and self.form(claim):
                wanted[entry["name"]] = claim
        claims = {name_of(claim): claim for claim in wanted.values()}
        self.wanted.update(claims)
        need = sum(len(claim["spec"]["devices"]["requests"]) for claim in claims.values())
        if wanted and self.will_do(context, wanted, need):
            for claim in claims.values():
                self.allocate(claim, context["spec"]["selectedNode"], pod)

    def will_do(self, context, entries, need):
        """Answers which nodes are unsuitable, if that is news. Returns whether the selected node is suitable."""
        spec, said = context.get("spec", {}), context.get("status", {}).get("resourceClaims", [])
        before = {one["name"]: one.get("unsuitableNodes", []) for one in said}
        selected, free = spec.get("selectedNode"), self.free()
        nodes = [selected, *spec.get("potentialNodes", []), *(node for entry in entries for node in before.get(entry, []))]
        # What goes beyond the limit comes last: nodes about which the scheduler does not ask now.
        bad = [node for node in dict.fromkeys(nodes) if node and free[node] < need][:NODES_MAX]
        if any(entry not in before or set(before[entry]) != set(bad) for entry in entries):
            others = [one for one in said if one["name"] not in entries]
            context["status"] = {"resourceClaims": others + [{"name": entry, "unsuitableNodes": bad} for entry in entries]}
            self.api.put(CONTEXTS, "podschedulingcontexts", context, "/status")
        return bool(selected) and selected not in bad

    def allocate(self, claim, node, pod=None):
        """Gives a claim one device for each of its requests, and reserves it for the pod, if there is one."""
        form, meta = self.form(claim), claim["metadata"]
        handles = [{"driverName": self.driver, "data": json.dumps({"node": node})}]
        # First the claim is protected: it cannot vanish before its devices are free again.
        meta["finalizers"] = sorted({*meta.get("finalizers", []), self.finalizer})
        if form == "annotations":  # they say nothing before there is an allocation
            notes = {OURS + "controller-name": self.driver, OURS + "resource-handles": json.dumps(handles)}
            meta["annotations"] = {**meta.get("annotations", {}), **notes}
        claim = self.keep(self.api.put(RESOURCES, "resourceclaims", claim))
        devices = [{"request": one["name"], "driver": self.driver, "pool": node, "device": f"lent-{meta['uid']}-{at}"}
                   for at, one in enumerate(claim["spec"]["devices"]["requests"])]
        only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        status = claim["status"]
        status["allocation"] = {"devices": {"results": devices}, "nodeSelector": {"nodeSelectorTerms": [only]}}
        if form == "fields":
            status["controllerName"], status["allocation"]["resourceHandles"] = self.driver, handles
        if pod:
            status["reservedFor"] = [{"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}]
        self.keep(self.api.put(RESOURCES, "resourceclaims", claim, "/status"))

    def tend(self, claim):
        """Allocates an Immediate claim without a pod, and takes back the devices of a claim that is asked for them, or that nobody wants."""
        meta, status = claim["metadata"], claim["status"]
        if is_immediate(claim) and not is_leaving(claim):
            need = len(claim["spec"]["devices"].get("requests", []))
            node = next((node for node, count in self.free().items() if count >= need), None)
            if "allocation" not in status and node and self.form(claim):
                self.allocate(claim, node)
            return
        is_kept = "allocation" in status or name_of(claim) in self.wanted
        if self.finalizer not in meta.get("finalizers", []) or status.get("reservedFor") or (is_kept and not is_leaving(claim)):
            return
        if "allocation" in status:
            gone = ("allocation", "controllerName", "deallocationRequested", "devices")
            claim["status"] = {field: value for field, value in status.items() if field not in gone}
            claim = self.api.put(RESOURCES, "resourceclaims", claim, "/status")
        # The protection goes last, with the annotations.
        meta = claim["metadata"]
        meta["finalizers"] = [one for one in meta["finalizers"] if one != self.finalizer]
        for key in ("controller-name", "resource-handles", "shareable", "deallocation-requested"):
            meta.get("annotations", {}).pop(OURS + key, None)
        self.keep(self.api.put(RESOURCES, "resourceclaims", claim))


def main():
    parser = argparse.ArgumentParser(description="lends so many devices on each node")
    parser.add_argument("--driver", required=True, help="name of the driver, which its DeviceClasses have as controllerName")
    parser.add_argument("--stock", required=True, help="number of devices on each node: n1=2,n2=1")
    parser.add_argument("--server", default="https://kubernetes.default.svc", help="URL of the API server")
    parser.add_argument("--account", default="/var/run/secrets/kubernetes.io/serviceaccount", help="folder with token and ca.crt")
    parser.add_argument("--every", type=float, default=1.0, help="seconds from one round to the next")
    options = parser.parse_args()
    stock = {node: int(count) for node, count in (one.split("=") for one in options.stock.split(","))}
    controller = Controller(Api(options.server, options.account), options.driver, stock)
    while True:
        try:
            controller.round()
        except OSError as error:
            warn(f"the API server is unavailable: {error}")
        time.sleep(options.every)


if __name__ == "__main__":
    main()
