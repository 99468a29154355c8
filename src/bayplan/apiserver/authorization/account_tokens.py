"""Tokens of ServiceAccounts: signed by this process, valid for a time and as long as the account is there."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bayplan.apiserver.transport.api_messages import UserInfo

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
_HEADER: Final = {"alg": "HS256", "typ": "JWT"}
#: The uid of an account, by namespace and name; None if there is none.
AccountUid = Callable[[str, str], str | None]


class _Account(msgspec.Struct):
    name: str
    uid: str


class _Place(msgspec.Struct):
    namespace: str
    serviceaccount: _Account


class _Claims(msgspec.Struct):
    exp: int
    place: _Place = msgspec.field(name="kubernetes.io")


class AccountTokens:
    """Issues tokens and recognises its own. The key lives as long as the process."""

    def __init__(self, now: Callable[[], float], uid_of: AccountUid) -> None:
        self._now = now
        self._uid_of = uid_of
        self._key = secrets.token_bytes(32)

    def issue(
        self, namespace: str, name: str, uid: str, audiences: Sequence[str], seconds: int
    ) -> tuple[str, int]:
        """A token in the form of a JWT, and when it ends, in seconds since the epoch."""
        now = int(self._now())
        claims = {
            "aud": list(audiences) or [ISSUER],
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": secrets.token_hex(16),
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
            "nbf": now,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        signed = b".".join(_base64(msgspec.json.encode(part)) for part in (_HEADER, claims))
        return (signed + b"." + _base64(self._signature(signed))).decode(), now + seconds

    def user_of(self, token: str) -> UserInfo | None:
        """The account of a token; None if it is not ours, is too old, or its account is gone."""
        signed, _, signature = token.encode().rpartition(b".")
        if not hmac.compare_digest(_base64(self._signature(signed)), signature):
            return None
        try:
            claims = msgspec.json.decode(_plain(signed.partition(b".")[2]), type=_Claims)
        except (msgspec.DecodeError, binascii.Error):
            return None
        place, account = claims.place, claims.place.serviceaccount
        if claims.exp <= self._now() or self._uid_of(place.namespace, account.name) != account.uid:
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{place.namespace}", "system:authenticated")
        return UserInfo(f"system:serviceaccount:{place.namespace}:{account.name}", groups, account.uid)

    def _signature(self, signed: bytes) -> bytes:
        return hmac.new(self._key, signed, hashlib.sha256).digest()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _plain(data: bytes) -> bytes:
    return base64.urlsafe_b64decode(data + b"=" * (-len(data) % 4))
