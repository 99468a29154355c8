"""serviceaccounts/token: issues a token for an account (`kubectl create token`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from bayplan.apiserver.api_errors import invalid as invalid_object
from bayplan.apiserver.authorization.account_tokens import ISSUER, AccountTokens
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.rest.options import CREATE_OPTIONS, read_write_options
from bayplan.apiserver.rest.request_body import read_object
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.subresources.common import HandlerDependencies, json_response
from bayplan.apiserver.transport.api_messages import ApiResponse
from bayplan.apiserver.validation.field_errors import invalid
from bayplan.model.times import format_time

_REQUEST: Final = ApiResource(
    "authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest", namespaced=True
)
_DEFAULT_SECONDS: Final = 3600
_LEAST_SECONDS: Final = 600


class AccountTokenHandler:
    """Handles creation at serviceaccounts/NAME/token."""

    def __init__(self, dependencies: HandlerDependencies, tokens: AccountTokens) -> None:
        self._dependencies = dependencies
        self._tokens = tokens
        self._codec = dependencies.codec_of(_REQUEST)

    def __call__(self, info: RequestInfo) -> ApiResponse:
        warnings: list[str] = []
        options = read_write_options(info.request, CREATE_OPTIONS)
        body = read_object(info.request, self._codec, options.field_validation, warnings)
        account = self._dependencies.registry.entry(info.resource, info.namespace, info.name)
        spec = body.setdefault("spec", {})
        spec["audiences"] = spec.get("audiences") or [ISSUER]
        if spec.get("expirationSeconds") is None:
            spec["expirationSeconds"] = _DEFAULT_SECONDS
        seconds = spec["expirationSeconds"]
        if seconds < _LEAST_SECONDS:
            cause = invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
            raise invalid_object(_REQUEST.group, _REQUEST.kind, info.name, [cause])
        token, end = self._tokens.issue(info.namespace, info.name, account.uid, spec["audiences"], seconds)
        now = self._dependencies.now()
        body["metadata"] = {"name": info.name, "namespace": info.namespace, "creationTimestamp": now}
        body["status"] = {"token": token, "expirationTimestamp": format_time(datetime.fromtimestamp(end, UTC))}
        return json_response(body, 201, warnings)
