#!/usr/bin/env python3
"""A driver's controller without the kit: it lends so many of something on each node. Standard library only.

    controller.py --kubeconfig kubeconfig.json --driver lender.example.com --stock n1=2,n2=1

The kubeconfig is JSON, as `kubectl config view --raw --flatten -o json` prints it. What is said here to the scheduler, and in which order, is
told in docs/guides/negotiation-protocol.md. Everything follows from what the API server says: it may be stopped at any moment.
"""
import argparse, base64, json, ssl, sys, tempfile, time, urllib.error, urllib.request

OURS = "supercargo.dev/"
CONTEXTS = "/apis/supercargo.dev/v1alpha1"
RESOURCES = "/apis/resource.k8s.io/v1"
NODES_MAX = 128  # the server refuses a list of more


class Api:
    """The few calls that a controller makes."""

    def __init__(self, kubeconfig):
        config = json.load(open(kubeconfig))
        named = lambda kind, name: next(one for one in config[kind + "s"] if one["name"] == name)[kind]
        context = named("context", config["current-context"])
        cluster, user = named("cluster", context["cluster"]), named("user", context["user"])
        self.server, self.token = cluster["server"], user.get("token")
        self.tls = ssl.create_default_context(cafile=self.file(cluster, "certificate-authority"))
        certificate = self.file(user, "client-certificate")
        if certificate:
            self.tls.load_cert_chain(certificate, self.file(user, "client-key"))

    def file(self, part, key):
        if part.get(key + "-data"):
            file = tempfile.NamedTemporaryFile(delete=False)
            file.write(base64.b64decode(part[key + "-data"]))
            file.close()
            return file.name
        return part.get(key)

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.server + path, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, context=self.tls, timeout=30) as answer:
            return json.load(answer)

    def list(self, path):
        return self.call("GET", path)["items"]

    def get(self, path):
        try:
            return self.call("GET", path)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def put(self, base, plural, thing, part=""):
        """Writes over the version that was read, and no other: whoever was overtaken looks again in the next round."""
        meta = thing["metadata"]
        return self.call("PUT", f"{base}/namespaces/{meta['namespace']}/{plural}/{meta['name']}{part}", thing)


def warn(what):
    print("warning:", what, file=sys.stderr, flush=True)


def noted(thing, key):
    return thing["metadata"].get("annotations", {}).get(OURS + key, "")


class Controller:
    def __init__(self, api, driver, stock):
        self.api, self.driver, self.stock = api, driver, stock
        self.finalizer = driver + "/deletion-protection"

    def round(self):
        """Looks at everything once. Another round makes good what went wrong in this one."""
        self.classes = {one["metadata"]["name"]: one for one in self.api.list(RESOURCES + "/deviceclasses")}
        every = self.api.list(RESOURCES + "/resourceclaims")
        self.claims = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in every}
        contexts = self.api.list(CONTEXTS + "/podschedulingcontexts")
        wanted = set()
        for context in contexts:
            self.attempt(lambda: wanted.update(self.negotiate(context)))
        for claim in list(self.claims.values()):
            self.attempt(lambda: self.tend(claim, wanted))

    def attempt(self, what):
        try:
            what()
        except urllib.error.HTTPError as error:
            if error.code not in (404, 409):  # it is gone, or another was faster
                warn(f"{error.code}: {error.read().decode()[:300]}")

    # What a claim says.

    def is_mine(self, claim):
        """Whether all classes of a claim leave its devices to this driver, and whether the server has fields for that."""
        forms = []
        for request in claim["spec"]["devices"].get("requests", []):
            found = self.classes.get(request.get("exactly", {}).get("deviceClassName"))
            field = found and found["spec"].get("controllerName")
            if not found or (field or noted(found, "controller-name")) != self.driver:
                return None
            forms.append("fields" if field else "annotations")
        return forms[0] if forms else None

    def status(self, claim):
        return claim.setdefault("status", {})

    def given(self, claim):
        """The node whose device a claim has from this driver."""
        status = self.status(claim)
        controller = status.get("controllerName") or noted(claim, "controller-name")
        if "allocation" not in status or controller != self.driver:
            return None
        handles = status["allocation"].get("resourceHandles") or json.loads(noted(claim, "resource-handles") or "[]")
        return json.loads(handles[0]["data"])["node"] if handles else None

    def left(self, node):
        return self.stock.get(node, 0) - sum(self.given(claim) == node for claim in self.claims.values())

    def is_leaving(self, claim):
        asked = self.status(claim).get("deallocationRequested") or noted(claim, "deallocation-requested") == "true"
        return bool(asked) or "deletionTimestamp" in claim["metadata"]

    # What is done about a pod that is negotiated about.

    def negotiate(self, context):
        meta, spec = context["metadata"], context.get("spec", {})
        space, selected = meta["namespace"], spec.get("selectedNode", "")
        pod = self.api.get(f"/api/v1/namespaces/{space}/pods/{meta['name']}")
        owners = [one["uid"] for one in meta.get("ownerReferences", []) if one.get("controller")]
        is_over = pod and pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if not pod or is_over or pod["metadata"]["uid"] not in owners or "deletionTimestamp" in pod["metadata"]:
            return []  # nothing is given for a pod that is gone
        wanted = {}
        for entry in pod["spec"].get("resourceClaims", []):
            made = [one.get("resourceClaimName") for one in pod["status"].get("resourceClaimStatuses", [])
                    if one["name"] == entry["name"]]
            claim = self.claims.get((space, entry.get("resourceClaimName") or (made or [None])[0]))
            if not claim or not self.is_mine(claim):
                continue
            mode = claim["spec"].get("allocationMode") or noted(claim, "allocation-mode")
            if "allocation" not in self.status(claim) and not self.is_leaving(claim) and mode != "Immediate":
                wanted[entry["name"]] = claim
        if wanted:
            will_do = self.answer(context, wanted)
            if selected and will_do:
                for claim in wanted.values():
                    self.give(claim, selected, pod)
        return [(space, claim["metadata"]["name"]) for claim in wanted.values()]

    def answer(self, context, wanted):
        """Says which nodes will not do, if that is news, and whether the one that is chosen will."""
        spec, before = context.get("spec", {}), context.setdefault("status", {}).setdefault("resourceClaims", [])
        selected, asked = spec.get("selectedNode", ""), spec.get("potentialNodes", [])
        said = {one["name"]: one for one in before}
        earlier = [node for name in wanted if name in said for node in said[name].get("unsuitableNodes", [])]
        nodes = list(dict.fromkeys([selected] * bool(selected) + asked + earlier))
        # The chosen node comes first, then those that are asked about, so that what goes beyond the bound was asked before.
        bad = [node for node in nodes if self.left(node) < len(wanted)][:NODES_MAX]
        for name in wanted:
            if name not in said:
                before.append({"name": name, "unsuitableNodes": bad})
        changed = [said[name] for name in wanted if name in said and set(said[name].get("unsuitableNodes", [])) != set(bad)]
        for one in changed:
            one["unsuitableNodes"] = bad
        if changed or any(name not in said for name in wanted):
            self.api.put(CONTEXTS, "podschedulingcontexts", context, "/status")
        return selected not in bad

    def give(self, claim, node, pod):
        form, meta = self.is_mine(claim), claim["metadata"]
        handles = [{"driverName": self.driver, "data": json.dumps({"node": node})}]
        # First the claim is protected, so that it cannot go before its devices are taken back.
        meta["finalizers"] = sorted({*meta.get("finalizers", []), self.finalizer})
        if form == "annotations":  # what a real API server has no fields for is noted before it is so
            notes = meta.setdefault("annotations", {})
            notes[OURS + "controller-name"], notes[OURS + "resource-handles"] = self.driver, json.dumps(handles)
        claim = self.keep(self.api.put(RESOURCES, "resourceclaims", claim))
        # Then it gets them, reserved at once for the pod that they are for.
        results = [{"request": request["name"], "driver": self.driver, "pool": node, "device": "lent-" + meta["uid"]}
                   for request in claim["spec"]["devices"]["requests"][:1]]
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        status = self.status(claim)
        status["allocation"] = {"devices": {"results": results},
                                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
        if form == "fields":
            status["controllerName"], status["allocation"]["resourceHandles"] = self.driver, handles
        status["reservedFor"] = [{"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}]
        self.keep(self.api.put(RESOURCES, "resourceclaims", claim, "/status"))
        print(f"gave something of {node} to claim {meta['namespace']}/{meta['name']}", flush=True)

    # What is done about a claim by itself.

    def tend(self, claim, wanted):
        meta, status = claim["metadata"], self.status(claim)
        name = (meta["namespace"], meta["name"])
        if status.get("reservedFor") or self.finalizer not in meta.get("finalizers", []):
            return
        has_none = "allocation" not in status and name not in wanted  # it was begun, and nobody wants it any more
        if not (self.is_leaving(claim) or has_none):
            return
        if "allocation" in status:
            for field in ("allocation", "controllerName", "deallocationRequested", "devices"):
                status.pop(field, None)
            claim = self.api.put(RESOURCES, "resourceclaims", claim, "/status")
        # The protection goes last, with what was noted.
        meta = claim["metadata"]
        meta["finalizers"] = [one for one in meta.get("finalizers", []) if one != self.finalizer]
        for key in ("controller-name", "resource-handles", "shareable", "deallocation-requested"):
            meta.get("annotations", {}).pop(OURS + key, None)
        self.keep(self.api.put(RESOURCES, "resourceclaims", claim))
        print(f"took back what claim {name[0]}/{name[1]} had", flush=True)

    def keep(self, claim):
        self.claims[(claim["metadata"]["namespace"], claim["metadata"]["name"])] = claim
        return claim


def main():
    parser = argparse.ArgumentParser(description="lends so many of something on each node")
    parser.add_argument("--kubeconfig", required=True, help="a kubeconfig in JSON")
    parser.add_argument("--driver", required=True, help="the driver's name, which its classes have as controllerName")
    parser.add_argument("--stock", required=True, help="how many there are on each node: n1=2,n2=1")
    parser.add_argument("--every", type=float, default=1.0, help="seconds from one look to the next")
    options = parser.parse_args()
    stock = {node: int(count) for node, count in (one.split("=") for one in options.stock.split(","))}
    controller = Controller(Api(options.kubeconfig), options.driver, stock)
    while True:
        try:
            controller.round()
        except (urllib.error.URLError, OSError) as error:
            warn(f"the API server cannot be asked: {error}")
        time.sleep(options.every)


if __name__ == "__main__":
    main()
