"""What a bundle means at run time: its operations by name, the base URL of its environment and its manifest
with defaults filled in. Made once per bundle and environment, shared by every script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ammeter.engines.compiler import manifest as manifests
from ammeter.engines.compiler.bundle import Bundle, DamagedBundle
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.manifest import Manifest
from ammeter.engines.compiler.model import Api, Operation
from ammeter.engines.compiler.supplied import without_supplied
from ammeter.engines.egress.base_url import BadUrl, Url, parse_base


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApi:
    api: Api
    operations: Mapping[str, Operation]
    """By operation id."""
    by_sdk_name: Mapping[str, Operation]
    base_url: str
    base: Url
    """The same, in parts, for the check that nothing leaves it."""
    manifest: Manifest
    environment: str


def served_api(bundle: Bundle, environment: str) -> ServedApi:
    """DamagedBundle where the bundle's own manifest or base URL cannot be used."""
    manifest, faults = manifests.check(bundle.manifest)
    if manifest is None:
        told = "; ".join(f"{fault.path}: {fault.message}" for fault in faults)
        raise DamagedBundle(f"The manifest of the bundle cannot be used: {told}.")
    base_url = manifest.base_url_for(environment) or bundle.base_url
    try:
        base = parse_base(base_url)
    except BadUrl as fault:
        raise DamagedBundle(f"The base URL {base_url!r} of the bundle cannot be called: {fault}.") from None
    # Again here for bundles that an earlier compiler made.
    api = without_supplied(bundle.api, manifest.auth, Findings())
    return ServedApi(
        api=api,
        operations={operation.id: operation for operation in api.operations},
        by_sdk_name={operation.sdk_name: operation for operation in api.operations},
        base_url=base_url,
        base=base,
        manifest=manifest,
        environment=environment,
    )
