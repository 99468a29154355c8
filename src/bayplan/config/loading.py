"""Loads configurations: from the text of a file to a validated configuration, or to the list of all errors.

In: the text, the name of its source, the catalogue of plugins. Out: `Loaded`, or `ConfigError`.
Nothing is started and nothing is contacted; the files that an extender's `tlsConfig` names are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bayplan.config.args.base import Args
from bayplan.config.decode import Decoder
from bayplan.config.defaults import default_configuration
from bayplan.config.effective import effective_configuration, expanded_configuration
from bayplan.config.expand import ExpandedProfile, Expansion
from bayplan.config.extender_resources import apply_ignored_resources
from bayplan.config.field_path import ROOT, Path
from bayplan.config.headers import Header, read_header
from bayplan.config.migrate import migrate_tree, print_yaml
from bayplan.config.plugin_args import PluginResolver, unknown_name_warnings
from bayplan.config.plugin_catalogue import CachedCatalogue, Catalogue
from bayplan.config.problems import ConfigError, FieldError, Mark, Problem
from bayplan.config.source import ParsedText, SyntaxProblem, read_text
from bayplan.config.tree import Mapping, Node, locate
from bayplan.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile
from bayplan.config.validate import validate_configuration
from bayplan.release import DEFAULT, Release

_TYPE_META = frozenset({"apiVersion", "kind"})


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A valid configuration."""

    #: All defaults filled in; `plugins` merged with the default plugins, arguments typed.
    config: KubeSchedulerConfiguration
    #: The profiles, expanded, in the order of the file.
    profiles: tuple[ExpandedProfile, ...]
    #: Old versions, unknown names and the like.
    warnings: tuple[Problem, ...] = ()
    #: The release of Kubernetes that the configuration was loaded for, with its feature gates.
    release: Release = DEFAULT

    def effective(self) -> dict[str, Any]:
        """As `kube-scheduler --write-config-to` prints it."""
        return effective_configuration(self.config, self.profiles, self.release)

    def expanded(self) -> dict[str, Any]:
        """Per scheduler name and extension point: plugins in their order, with weights."""
        return expanded_configuration(self.profiles)


def load(text: str, *, source: str, catalogue: Catalogue) -> Loaded:
    """Load a configuration of any supported version; `source` is its name in messages.

    Raises `ConfigError` with all problems, in the order of the file.
    """
    # 1. Parse it and determine its version.
    root, header, parsed = _read(text, source)
    warnings: list[FieldError] = []
    if parsed.more_documents:
        warnings.append(FieldError(ROOT, "several documents are in this text; only the first one is used"))
    # 2. Migrate older versions to v1.
    if header.version != "v1":
        migration = migrate_tree(root, header.version)
        root = migration.root
        warnings += migration.warnings()
        parsed.errors += migration.errors
    # 3. Decode, default, validate, expand: each stage as far as possible, to report all errors.
    building = _ConfigurationBuilder(root, catalogue)
    building.run()
    if parsed.is_json:
        # Go reports duplicate keys when it decodes, so not in arguments of an unknown class.
        raw = building.raw_args()
        parsed.errors = [error for error in parsed.errors if not any(error.path.starts_with(path) for path in raw)]
    errors = [*parsed.errors, *header.errors, *building.errors]
    if errors:
        raise ConfigError(_problems(errors, source, root))
    warnings += building.warnings
    return Loaded(
        config=building.config,
        profiles=building.profiles,
        warnings=tuple(_problems(warnings, source, root)),
        release=catalogue.release,
    )


def default(catalogue: Catalogue) -> Loaded:
    """The default configuration."""
    building = _ConfigurationBuilder(Mapping((), Mark(0, 0)), catalogue)
    building.run()
    if building.errors:
        raise ConfigError(_problems(building.errors, "default configuration", None))
    return Loaded(config=building.config, profiles=building.profiles, release=catalogue.release)


def migrate(text: str, *, source: str) -> str:
    """The v1 equivalent of an older file, as YAML with a comment for everything that changed.

    Raises `ConfigError` if the file cannot be understood in its own version. What is wrong in the same way in
    v1 is left as it is: `load` the result to find out.
    """
    root, header, parsed = _read(text, source)
    migration = migrate_tree(root, header.version)
    errors = [*parsed.errors, *header.errors, *migration.errors]
    if errors:
        raise ConfigError(_problems(errors, source, root))
    return print_yaml(migration.root, migration.notes)


def _read(text: str, source: str) -> tuple[Mapping, Header, ParsedText]:
    """The tree of a text and its header. Raises ConfigError if it is no scheduler configuration."""
    try:
        parsed = read_text(text)
    except SyntaxProblem as problem:
        error = FieldError(ROOT, problem.message, problem.hint, mark=problem.mark)
        raise ConfigError([_problem(error, source, None)]) from None
    header = read_header(parsed.root)
    if not header.readable or not isinstance(parsed.root, Mapping):
        raise ConfigError(_problems([*parsed.errors, *header.errors], source, parsed.root))
    return parsed.root, header, parsed


class _ConfigurationBuilder:
    """Builds a configuration from a v1 tree; collects the errors of every stage."""

    def __init__(self, root: Mapping, catalogue: Catalogue) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[FieldError] = []
        self.profiles: tuple[ExpandedProfile, ...] = ()
        self.config = KubeSchedulerConfiguration()
        self._root = root
        self._catalogue = CachedCatalogue(catalogue)
        self._broken: list[Path] = []

    def run(self) -> None:
        written = self._decode()
        config = default_configuration(written, self._catalogue)
        self._add(validate_configuration(config, self._catalogue.release))
        config, errors = apply_ignored_resources(config)
        self._add(errors)
        if any(extender.tls_config is not None for extender in config.extenders):
            from bayplan.config.extender_tls import tls_errors  # ssl is slow to import and rarely needed

            self._add(tls_errors(config.extenders, ROOT / "extenders"))
        self.config = config
        self._expand(written)

    def raw_args(self) -> list[Path]:
        """The paths of arguments that were not decoded."""
        return [
            ROOT / "profiles" / i / "pluginConfig" / j / "args"
            for i, profile in enumerate(self.config.profiles)
            for j, config in enumerate(profile.plugin_config)
            if not isinstance(config.args, Args)
        ]

    def _decode(self) -> KubeSchedulerConfiguration:
        decoder = Decoder(KubeSchedulerConfiguration, self._catalogue.release)
        config: KubeSchedulerConfiguration = decoder.decode_object(
            self._root, KubeSchedulerConfiguration, ROOT, skip=_TYPE_META
        )
        resolver = PluginResolver(self._catalogue)
        config = resolver.resolve(config)
        self.errors += decoder.errors + resolver.errors
        self._broken = decoder.broken + resolver.broken
        self.warnings += [*resolver.warnings, *unknown_name_warnings(config, self._catalogue)]
        return config

    def _expand(self, written: KubeSchedulerConfiguration) -> None:
        expanded = []
        for i, profile in enumerate(self.config.profiles):
            path = ROOT / "profiles" / i
            as_written = written.profiles[i] if i < len(written.profiles) else KubeSchedulerProfile()
            expansion = Expansion(profile, as_written, path, self._catalogue)
            expanded.append(expansion.run())
            self._add(expansion.errors)
            self.warnings += expansion.warnings
            self._check_late_args(expansion.used(), i)
        self.profiles = tuple(expanded)
        self._add(_queue_sort_errors(self.profiles))

    def _check_late_args(self, used: set[str], profile: int) -> None:
        """Arguments that only the constructor of the plugin checks are errors only if the plugin is used."""
        for j, config in enumerate(self.config.profiles[profile].plugin_config):
            if isinstance(config.args, Args) and config.args.CHECKED_WHEN_USED:
                errors = config.args.errors_in(
                    self._catalogue.release, ROOT / "profiles" / profile / "pluginConfig" / j / "args"
                )
                if config.name in used:
                    self._add(errors)
                else:
                    self.warnings += errors

    def _add(self, errors: Iterable[FieldError]) -> None:
        """Keep errors, except those that only follow from a value that could not be decoded."""
        for error in errors:
            if not any(path.starts_with(error.path) or error.path.starts_with(path) for path in self._broken):
                self.errors.append(error)


def _queue_sort_errors(profiles: tuple[ExpandedProfile, ...]) -> list[FieldError]:
    """All profiles share one queue, so they must use the same QueueSort plugin with the same arguments."""
    sorts = [profile.points["queueSort"] for profile in profiles]
    if any(len(plugins) != 1 for plugins in sorts):
        return []  # already reported
    errors = []
    first = sorts[0][0].name
    for i, plugins in enumerate(sorts[1:], start=1):
        path = ROOT / "profiles" / i
        if plugins[0].name != first:
            message = f"this profile sorts the queue with {plugins[0].name}, the first one with {first}"
            errors.append(FieldError(path / "plugins" / "queueSort", message, "all profiles share one queue"))
        elif profiles[i].args.get(first) != profiles[0].args.get(first):
            message = f"the arguments of the queue sort plugin {first} differ from those in the first profile"
            errors.append(FieldError(path / "pluginConfig", message, "all profiles share one queue"))
    return errors


def _problems(errors: Iterable[FieldError], source: str, root: Node | None) -> list[Problem]:
    problems = [_problem(error, source, root) for error in errors]
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.line)


def _problem(error: FieldError, source: str, root: Node | None) -> Problem:
    mark = error.mark or (locate(root, error.path) if root is not None else Mark(1, 1))
    return Problem(source, mark.line, mark.column, str(error.path), error.message, error.hint, error.upstream_path)
