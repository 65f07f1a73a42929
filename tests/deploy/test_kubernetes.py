"""The manifests for Kubernetes: their form, and what they promise."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any, Final

import jsonpatch
import kubernetes_validate
import pytest
import yaml
from support.deployment import KUBERNETES, manifest, manifests, require_command

from collection_search import __version__
from collection_search.adapters.crawl.fetch.public_hosts import _NEVER, _V4_SPECIAL, _V6_SPECIAL
from collection_search.cli.shared.signals import _RELEASE_S, TERMINATION_LIMIT_S
from collection_search.server.authentication import HEALTH

OLDEST: Final = "1.30"
"""The first version in which a pod may wait before it stops (`preStop.sleep`)."""
NEWEST: Final = kubernetes_validate.latest_version()
OBJECTS: Final = {f"{one['kind']}/{one['metadata']['name']}": one for one in manifests()}
PODS: Final = {
    name: one["spec"]["template"]["spec"]
    for name, one in OBJECTS.items()
    if one["kind"] in {"Deployment", "Job"}
}


def kustomization(folder: str = ".") -> dict[str, Any]:
    """Return what kustomize reads there."""
    return yaml.safe_load((KUBERNETES / folder / "kustomization.yaml").read_text("utf-8"))


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("name", OBJECTS)
def test_it_has_the_form_of_kubernetes(name: str, version: str):
    """By the schemas of that version; unknown fields are refused."""
    kubernetes_validate.validate(OBJECTS[name], version, strict=True)


def test_the_schema_refuses_a_mistake():
    """A misspelt field is not passed over."""
    wrong = {**OBJECTS["Service/app"], "spec": {"prots": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, NEWEST, strict=True)


@pytest.mark.parametrize("name", PODS)
def test_a_pod_is_restricted(name: str):
    """As the namespace demands it."""
    spec = PODS[name]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    context = container["securityContext"]
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert set(container["resources"]) == {"requests", "limits"}
    assert container["image"] == f"collection-search:{__version__}"
    require_command(container["command"])


@pytest.mark.parametrize("name", PODS)
def test_what_a_pod_names_exists(name: str):
    """Volumes, secrets, settings and its account."""
    spec = PODS[name]
    (container,) = spec["containers"]
    assert {one["name"] for one in container["volumeMounts"]} == {
        one["name"] for one in spec["volumes"]
    }
    for volume in spec["volumes"]:
        if "secret" in volume:
            assert f"Secret/{volume['secret']['secretName']}" in OBJECTS
    for source in container["envFrom"]:
        assert f"ConfigMap/{source['configMapRef']['name']}" in OBJECTS
    assert f"ServiceAccount/{spec['serviceAccountName']}" in OBJECTS


@pytest.mark.parametrize("name", ["app", "worker"])
def test_a_pod_stops_in_order(name: str):
    """Kubernetes waits longer than the command takes at most, after the wait before it."""
    spec = manifest("Deployment", name)["spec"]["template"]["spec"]
    before = spec["containers"][0].get("lifecycle", {}).get("preStop", {}).get("sleep", {})
    needed = before.get("seconds", 0) + TERMINATION_LIMIT_S
    assert spec["terminationGracePeriodSeconds"] >= needed + _RELEASE_S


def test_the_ports_match():
    """Command, container, probes, service and policy; the probes ask for the open path."""
    spec = manifest("Deployment", "app")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert container["command"][-1] == str(ports["http"])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["port"] in ports
        assert asked["path"] in HEALTH
    (served,) = manifest("Service", "app")["spec"]["ports"]
    assert served["targetPort"] in ports
    (rule,) = manifest("NetworkPolicy", "to-app")["spec"]["ingress"]
    assert [one["port"] for one in rule["ports"]] == [ports["http"]]


@pytest.mark.parametrize("kind", ["Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"])
def test_what_belongs_to_the_app_finds_it(kind: str):
    """By its labels or its name."""
    spec = manifest(kind, "app")["spec"]
    labels = manifest("Deployment", "app")["spec"]["template"]["metadata"]["labels"]
    if kind == "HorizontalPodAutoscaler":
        assert f"{spec['scaleTargetRef']['kind']}/{spec['scaleTargetRef']['name']}" in OBJECTS
        assert spec["minReplicas"] >= 2
    else:
        selector = spec["selector"].get("matchLabels", spec["selector"])
        assert selector.items() <= labels.items()


def test_all_is_closed_at_first():
    """In both directions."""
    spec = manifest("NetworkPolicy", "closed")["spec"]
    assert spec == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize("network", [*_V4_SPECIAL, *_V6_SPECIAL, *_NEVER], ids=str)
def test_no_address_outside_the_public_web_is_reached(network: Any):
    """The second line behind the fetch, which refuses the same addresses."""
    (rule,) = manifest("NetworkPolicy", "public-web")["spec"]["egress"]
    for block in (one["ipBlock"] for one in rule["to"]):
        whole = ip_network(block["cidr"])
        if whole.version == network.version and whole.overlaps(network):
            assert any(network.subnet_of(ip_network(one)) for one in block["except"])


def test_nothing_but_the_database_and_the_web_is_reached():
    """By workers: no rule names the app, other namespaces or all pods."""
    for name in ("public-web", "to-database"):
        for rule in manifest("NetworkPolicy", name)["spec"]["egress"]:
            for peer in rule["to"]:
                assert "ipBlock" in peer or peer["podSelector"]["matchLabels"] == {
                    "app.kubernetes.io/name": "postgres"
                }


def test_the_database_is_reached_by_ours_alone():
    """Each end of the connection names the other."""
    (inwards,) = manifest("NetworkPolicy", "database")["spec"]["ingress"]
    outwards = manifest("NetworkPolicy", "to-database")["spec"]
    (peer,) = inwards["from"]
    assert peer["podSelector"] == outwards["podSelector"]
    assert inwards["ports"] == outwards["egress"][0]["ports"]


@pytest.mark.parametrize("folder", [".", "celery"])
def test_a_kustomization_names_what_exists(folder: str):
    """The template of the secrets is not among it: it would replace them by empty ones."""
    for one in kustomization(folder)["resources"]:
        path = KUBERNETES / folder / one
        assert path.is_file() or (path / "kustomization.yaml").is_file()
        assert "secret" not in path.name


def test_the_patches_of_celery_apply():
    """The workers get the other command, and all get the engine."""
    patched = {}
    for patch in kustomization("celery")["patches"]:
        target = manifest(patch["target"]["kind"], patch["target"]["name"])
        changes = jsonpatch.JsonPatch(yaml.safe_load(patch["patch"]))
        patched[target["kind"]] = changes.apply(target)
        kubernetes_validate.validate(patched[target["kind"]], NEWEST, strict=True)
    assert patched["ConfigMap"]["data"]["COLLECTION_SEARCH_INGEST_ENGINE"] == "celery"
    (container,) = patched["Deployment"]["spec"]["template"]["spec"]["containers"]
    require_command(container["command"])
    assert container["command"][-1] == "celery"
