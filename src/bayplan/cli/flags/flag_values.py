"""FlagValues: the flags of a command line, and the settings of the process that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click
import msgspec

from bayplan.cli.emulated_version_option import chosen_release
from bayplan.cli.flags.flag import NO_EFFECT, REFUSED
from bayplan.cli.flags.flag_table import BY_NAME
from bayplan.cli.flags.go_parsing import LISTS, go_text, integer
from bayplan.config import Loaded
from bayplan.config.types import LeaderElectionConfiguration
from bayplan.config.validate import validate_configuration
from bayplan.observe.klog import VModule
from bayplan.process import AccessSettings, LogSettings, Settings
from bayplan.release import Release
from bayplan.server import ServingOptions
from bayplan.server.serving_certificates import CIPHERS, TLS13_CIPHERS, VERSIONS

_LOG_FORMS: Final = ("text", "json")


class FlagValues:
    """Checks each flag by itself; an invalid one raises UsageError."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        """*given*: value by parameter name; None or () for flags that were not given."""
        self._given: dict[str, Any] = {}
        for name, flag in BY_NAME.items():
            value = given.get(name.replace("-", "_"))
            if flag.kind in LISTS:
                value = tuple(item for part in value or () for item in part) if value else None
            if value is not None:
                self._given[name] = value
        self._refuse()

    def _refuse(self) -> None:
        for name, value in self._given.items():
            flag = BY_NAME[name]
            if flag.treatment == REFUSED and value != flag.default:
                raise click.UsageError(f"--{name} is refused: {flag.note}")
        self._one_of("logging-format", _LOG_FORMS)
        self._one_of("tls-min-version", ("", *VERSIONS), ", the lowest version that is served")
        self._one_of("leader-elect-resource-lock", ("leases",))
        for suite in self["tls-cipher-suites"]:
            if suite not in CIPHERS and suite not in TLS13_CIPHERS:
                raise click.UsageError(
                    f"--tls-cipher-suites: {suite} is not supported; supported are {', '.join(CIPHERS)}"
                )
        if not 0 <= self["secure-port"] <= 65535:
            raise click.UsageError(f"--secure-port={self['secure-port']} is not a valid port; 0 disables serving")

    def _one_of(self, name: str, values: tuple[str, ...], more: str = "") -> None:
        if self[name] not in values:
            known = " or ".join(value for value in values if value)
            raise click.UsageError(f"--{name}={self[name]} is invalid; use {known}{more}")

    def __getitem__(self, name: str) -> Any:
        return self._given.get(name, BY_NAME[name].default)

    def is_given(self, name: str) -> bool:
        return name in self._given

    # --- the configuration ------------------------------------------------------------------------

    def apply_to(self, loaded: Loaded) -> Loaded:
        """The configuration with the flags applied: those of the lease always, the others only without a file."""
        config = loaded.config
        election = msgspec.structs.replace(config.leader_election, **self._changes(LeaderElectionConfiguration))
        connection, profiling = config.client_connection, config.enable_profiling
        if not self["config"]:
            changes: dict[str, Any] = {
                field: self[name]
                for field, name in (("qps", "kube-api-qps"), ("burst", "kube-api-burst"))
                if self.is_given(name)
            }
            connection = msgspec.structs.replace(connection, **changes)
            profiling = self["profiling"] if self.is_given("profiling") else profiling
        if not connection.kubeconfig and self["kubeconfig"]:
            connection = msgspec.structs.replace(connection, kubeconfig=self["kubeconfig"])
        config = msgspec.structs.replace(
            config, leader_election=election, client_connection=connection, enable_profiling=profiling
        )
        errors = validate_configuration(config, loaded.release)
        if errors:
            raise click.UsageError(
                "\n".join(f"with these flags {error.path}: {error.message}" for error in errors)
            )
        return msgspec.structs.replace(loaded, config=config)

    def _changes(self, of: type[LeaderElectionConfiguration]) -> dict[str, Any]:
        names = {field: f"leader-elect-{field.replace('_', '-')}" for field in of.__struct_fields__}
        names["leader_elect"] = "leader-elect"
        return {field: self[name] for field, name in names.items() if self.is_given(name)}

    # --- the process ------------------------------------------------------------------------------

    def settings(self, loaded: Loaded) -> Settings:
        return Settings(
            kubeconfig=loaded.config.client_connection.kubeconfig,
            master=self["master"],
            log=self.log_settings(),
            serving=self._serving() if self["secure-port"] else None,
            access=self._access(),
            release=loaded.release,
            max_unschedulable_seconds=self["pod-max-in-unschedulable-pods-duration"].total_seconds(),
            disabled_metrics=self["disabled-metrics"],
            flags={name: go_text(self[name]) for name in sorted(BY_NAME)},
            without_effect={
                f"--{name}": BY_NAME[name].note
                for name in self._given
                if BY_NAME[name].treatment == NO_EFFECT and self[name] != BY_NAME[name].default
            },
        )

    def log_settings(self) -> LogSettings:
        form = self["logging-format"]
        return LogSettings(
            verbosity=self["v"],
            form=form,
            modules=tuple(_module(item) for item in self["vmodule"]),
            split_stream=self[f"log-{form}-split-stream"],
        )

    def emulated_release(self) -> Release | None:
        """The release of --emulated-version; None if it is not given."""
        versions = self["emulated-version"]
        if len(versions) > 1:
            raise click.UsageError(f"--emulated-version={','.join(versions)} is refused: give one version")
        return chosen_release(versions[0]) if versions else None

    def with_gates(self, release: Release) -> Release:
        """The release with its feature gates as they are set."""
        for version in self["min-compatibility-version"]:
            if version.rpartition("=")[2] not in release.min_compatibility:
                known = " or ".join(release.min_compatibility)
                raise click.UsageError(
                    f"--min-compatibility-version={version} is refused: for {release} it is {known}"
                )
        if not self["feature-gates"]:
            return release
        try:
            return release.with_gate_flags(self["feature-gates"])
        except ValueError as error:
            raise click.UsageError(f"--feature-gates: {error}") from error

    def _serving(self) -> ServingOptions:
        return ServingOptions(
            address=self["bind-address"],
            port=self["secure-port"],
            certificate_file=self["tls-cert-file"],
            key_file=self["tls-private-key-file"],
            cert_dir=self["cert-dir"],
            min_version=self["tls-min-version"],
            ciphers=self["tls-cipher-suites"],
            client_ca_file=self["client-ca-file"],
            reuse_address=self["permit-address-sharing"],
            reuse_port=self["permit-port-sharing"],
            look_up_client_ca=not self["authentication-skip-lookup"],
            tolerate_lookup_failure=self["authentication-tolerate-lookup-failure"],
        )

    def _access(self) -> AccessSettings:
        return AccessSettings(
            authentication_kubeconfig=self["authentication-kubeconfig"],
            authorization_kubeconfig=self["authorization-kubeconfig"],
            token_ttl_seconds=self["authentication-token-webhook-cache-ttl"].total_seconds(),
            allowed_ttl_seconds=self["authorization-webhook-cache-authorized-ttl"].total_seconds(),
            denied_ttl_seconds=self["authorization-webhook-cache-unauthorized-ttl"].total_seconds(),
            always_allowed_paths=self["authorization-always-allow-paths"],
        )


def _module(item: str) -> VModule:
    pattern, equals, level = item.rpartition("=")
    if not equals or not pattern:
        raise click.UsageError(f"--vmodule: {item} is not pattern=N")
    try:
        return VModule(pattern, integer(level))
    except ValueError as error:
        raise click.UsageError(f"--vmodule: {item}: {error}") from error
