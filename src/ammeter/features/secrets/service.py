"""An organization's secrets: put, list, delete, reveal to the part that needs one, rotate the seal."""

from __future__ import annotations

from ammeter.base.clock import now
from ammeter.base.errors import NotFound, SettingsError
from ammeter.base.ids import new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.features.orgs import audit
from ammeter.features.orgs.fields import SecretName, SecretValue, checked
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.secrets import store
from ammeter.features.secrets.model import Secret
from ammeter.features.secrets.sealing import KeyRing

_ROTATION_BATCH = 500


class Secrets:
    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    def check(self, tx: Tx) -> None:
        """SettingsError where something is sealed under a key that this process does not have."""
        missing = [key_id for key_id in store.sealing_key_ids(tx) if not self._ring.knows(key_id)]
        if missing:
            raise SettingsError(
                f"Secrets in the database are sealed under the key {missing[0]}, which this server does not"
                " have; give it the same AMMETER_SEALING_KEYS or sealing.key file as before."
            )

    def derived_keys(self, purpose: str) -> tuple[bytes, ...]:
        """Keys for another purpose that all nodes share: the first signs, all verify."""
        return self._ring.derived(purpose)

    def put(self, tx: Tx, actor: Actor, org_id: str, *, name: str, value: str) -> tuple[Secret, bool]:
        """Set a secret; tells whether it is new."""
        actor.need(Role.admin, to="set a secret")
        name, value = checked(SecretName, name, "$.secretName"), checked(SecretValue, value, "$.value")
        key_id, sealed = self._ring.seal(value, bound_to=_binding(org_id, name))
        at = now()
        made = Secret(id=new_id(), org_id=org_id, name=name, created_at=at, updated_at=at)
        known = store.find_secret(tx, org_id, name)
        is_new = known is None and store.insert_secret(tx, made, key_id=key_id, sealed=sealed)
        if not is_new:
            known = known or self.get(tx, org_id, name)
            store.reseal(tx, known.id, key_id=key_id, sealed=sealed, at=at)
        audit.record(tx, actor, org_id, "secret.put", name, new=is_new)
        return self.get(tx, org_id, name), is_new

    def get(self, tx: Tx, org_id: str, name: str) -> Secret:
        secret = store.find_secret(tx, org_id, name)
        if secret is None:
            raise NotFound("secret")
        return secret

    def list(self, tx: Tx, actor: Actor, org_id: str, page: PageRequest) -> Page[Secret]:
        actor.need(Role.admin, to="list secrets")
        return store.list_secrets(tx, org_id, page)

    def delete(self, tx: Tx, actor: Actor, org_id: str, name: str) -> None:
        actor.need(Role.admin, to="delete a secret")
        store.delete_secret(tx, self.get(tx, org_id, name).id)
        audit.record(tx, actor, org_id, "secret.delete", name)

    def reveal(self, tx: Tx, org_id: str, name: str) -> str:
        """The value, for the part that puts it on the wire; never for a person."""
        secret = store.find_sealed(tx, org_id, name)
        if secret is None:
            raise NotFound("secret")
        return self._ring.open(secret.sealing_key_id, secret.sealed, bound_to=_binding(org_id, name))

    def rotate(self, db: Database, actor: Actor) -> int:
        """Seal everything under a new key (a file's ring) or the first one (a setting's); how many.

        A kill in the middle loses nothing: old keys go only after every row was sealed anew, and a
        second call carries on.
        """
        actor.need(Role.owner, to="rotate the sealing key")
        if self._ring.file is None:
            return self._reseal_all(db, actor)
        with self._ring.rotating():
            self._ring.add_current()
            resealed = self._reseal_all(db, actor)
            self._ring.drop_oldest()
        return resealed

    def _reseal_all(self, db: Database, actor: Actor) -> int:
        resealed = 0
        while batch := self._reseal_batch(db):
            resealed += batch
        with db.write() as tx:
            audit.record(tx, actor, None, "sealing.rotate", self._ring.current_id, resealed=resealed)
        return resealed

    def _reseal_batch(self, db: Database) -> int:
        with db.write() as tx:
            batch = store.sealed_under_other_keys(tx, self._ring.current_id, limit=_ROTATION_BATCH)
            for old in batch:
                binding = _binding(old.org_id, old.name)
                value = self._ring.open(old.sealing_key_id, old.sealed, bound_to=binding)
                key_id, sealed = self._ring.seal(value, bound_to=binding)
                store.reseal(tx, old.id, key_id=key_id, sealed=sealed)
        return len(batch)


def _binding(org_id: str, name: str) -> str:
    return f"{org_id}/{name}"
