# SPDX-License-Identifier: Apache-2.0
"""A small client of the Kubernetes API for tests: plain HTTPS, one connection per thread."""
import concurrent.futures
import http.client
import json
import ssl
import threading
import time
import urllib.parse

# kind: (group and version, plural, has a namespace)
KINDS = {
    "Node": ("v1", "nodes", False),
    "Namespace": ("v1", "namespaces", False),
    "Pod": ("v1", "pods", True),
    "Service": ("v1", "services", True),
    "ServiceAccount": ("v1", "serviceaccounts", True),
    "Secret": ("v1", "secrets", True),
    "ConfigMap": ("v1", "configmaps", True),
    "Event": ("v1", "events", True),
    "ResourceQuota": ("v1", "resourcequotas", True),
    "PersistentVolume": ("v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", True),
    "StorageClass": ("storage.k8s.io/v1", "storageclasses", False),
    "PriorityClass": ("scheduling.k8s.io/v1", "priorityclasses", False),
    "RuntimeClass": ("node.k8s.io/v1", "runtimeclasses", False),
    "Job": ("batch/v1", "jobs", True),
    "ReplicaSet": ("apps/v1", "replicasets", True),
    "Deployment": ("apps/v1", "deployments", True),
    "Role": ("rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings", True),
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "DeviceClass": ("resource.k8s.io/v1", "deviceclasses", False),
    "ResourceClaim": ("resource.k8s.io/v1", "resourceclaims", True),
    "ResourceClaimTemplate": ("resource.k8s.io/v1", "resourceclaimtemplates", True),
    "ResourceSlice": ("resource.k8s.io/v1", "resourceslices", False),
    "JobSet": ("jobset.x-k8s.io/v1alpha2", "jobsets", True),
    "PodGroup": ("scheduling.x-k8s.io/v1alpha1", "podgroups", True),
    "Workload": ("kueue.x-k8s.io/v1beta1", "workloads", True),
}


class Refused(Exception):
    """The API server said no."""

    def __init__(self, status, body, what):
        try:
            self.message = json.loads(body).get("message", "")
        except ValueError:
            self.message = body[:300].decode(errors="replace")
        self.status = status
        super().__init__(f"{what}: {status} {self.message}")


def collection_path(kind, namespace=None):
    version, plural, has_namespace = KINDS[kind]
    path = "/api/v1" if version == "v1" else "/apis/" + version
    if has_namespace and namespace:
        path += f"/namespaces/{namespace}"
    return f"{path}/{plural}"


def object_path(kind, name, namespace=None):
    version, _, has_namespace = KINDS[kind]
    return f"{collection_path(kind, (namespace or 'default') if has_namespace else None)}/{name}"


def path_of(manifest):
    meta = manifest["metadata"]
    return object_path(manifest["kind"], meta["name"], meta.get("namespace"))


class Api:
    """Of one user. Each thread has a connection of its own."""

    def __init__(self, port, ca_file, token=None, certificate=None, host="127.0.0.1", timeout=30):
        self.host, self.port, self.timeout = host, port, timeout
        self.token = token
        self.tls = ssl.create_default_context(cafile=ca_file)
        if certificate:
            self.tls.load_cert_chain(*certificate)
        self.of_thread = threading.local()

    def ask(self, method, path, body=None, content_type="application/json"):
        """-> (status, bytes). Tries once more when a kept connection turns out to be dead."""
        headers = {"Accept": "application/json", "User-Agent": "weir-test"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if body is not None:
            headers["Content-Type"] = content_type
            body = json.dumps(body).encode()
        for attempt in range(2):
            link = getattr(self.of_thread, "link", None)
            is_fresh = link is None
            if is_fresh:
                link = http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.tls)
                self.of_thread.link = link
            try:
                link.request(method, path, body=body, headers=headers)
                answer = link.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                link.close()
                self.of_thread.link = None
                if is_fresh or attempt:
                    raise

    def call(self, method, path, body=None, content_type="application/json"):
        """The answer as JSON. Obeys "too many requests"."""
        while True:
            status, answer = self.ask(method, path, body, content_type)
            if status != 429:
                break
            time.sleep(0.2)
        if status >= 300:
            raise Refused(status, answer, f"{method} {path}")
        return json.loads(answer) if answer.startswith(b"{") else answer.decode()

    def get(self, kind, name, namespace=None):
        return self.call("GET", object_path(kind, name, namespace))

    def find(self, kind, name, namespace=None):
        """None when there is no such object."""
        try:
            return self.get(kind, name, namespace)
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    def list(self, kind, namespace=None, **options):
        """All items; options as in the API: fieldSelector, labelSelector."""
        items, options = [], dict(options, limit=1000)
        while True:
            page = self.call("GET", f"{collection_path(kind, namespace)}?{urllib.parse.urlencode(options)}")
            items += page["items"]
            if not page["metadata"].get("continue"):
                return items
            options["continue"] = page["metadata"]["continue"]

    def create(self, manifest):
        namespace = manifest["metadata"].get("namespace", "default")
        manifest = dict(manifest)
        manifest.setdefault("apiVersion", KINDS[manifest["kind"]][0])
        return self.call("POST", collection_path(manifest["kind"], namespace), manifest)

    def create_all(self, manifests, connections=8):
        """Quickly, in no particular order."""
        with concurrent.futures.ThreadPoolExecutor(connections) as pool:
            return list(pool.map(self.create, manifests))

    def patch(self, kind, name, patch, namespace=None, subresource=""):
        """A JSON patch when it is a list, else a merge patch."""
        content_type = "application/json-patch+json" if isinstance(patch, list) else "application/merge-patch+json"
        path = object_path(kind, name, namespace) + (f"/{subresource}" if subresource else "")
        return self.call("PATCH", path, patch, content_type)

    def delete(self, kind, name, namespace=None, grace_seconds=None):
        """Whether it was there."""
        options = {"propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            self.call("DELETE", object_path(kind, name, namespace), options)
            return True
        except Refused as refused:
            if refused.status != 404:
                raise
            return False

    def delete_collection(self, kind, namespace=None, grace_seconds=0):
        options = {"propagationPolicy": "Background", "gracePeriodSeconds": grace_seconds}
        self.call("DELETE", collection_path(kind, namespace), options)


def wait_for(what, condition, seconds, pause=0.05):
    """The first true value of `condition()`. TimeoutError names what did not come."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(pause)
