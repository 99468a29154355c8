"""The framework: the contract between the scheduler and its plugins, and all that a plugin imports.

`plugin` is the file to read first. The rest of the package runs plugins and does not know the cluster:
the cache implements `NodeTable`, the cycle calls the runners.
"""

from bayplan.config.args import Args
from bayplan.framework.binding_runner import BindingRunner, BindPlan
from bayplan.framework.calls import Observer, PlacedPlugin, PluginCaller, PluginMethod, ProfilePlugins
from bayplan.framework.candidates import Candidate, PreemptionReport, VictimRules, Victims
from bayplan.framework.class_scores import ClassScores
from bayplan.framework.contract import PluginError, check_class
from bayplan.framework.evaluator import (
    MAX_SCORE,
    MIN_SCORE,
    DirectEvaluator,
    Evaluator,
    PluginScores,
    ScoreOutcome,
    Scorer,
    default_normalize,
)
from bayplan.framework.events import Action, ClusterEvent, Hint, QueueingHint, Resource
from bayplan.framework.handle import (
    AmountsWhatIf,
    BackgroundTask,
    Client,
    Clock,
    Evaluation,
    EventRecorder,
    Handle,
    Metrics,
    Nominator,
    Snapshot,
    WaitingPod,
    WaitingPods,
)
from bayplan.framework.instantiation import create_plugin, create_profile_plugins
from bayplan.framework.node_search import SearchPlan
from bayplan.framework.nodes import (
    CountClasses,
    Derived,
    Domains,
    LabelColumn,
    NodeInfo,
    NodeTable,
    PodQuery,
    TermColumn,
    TermKind,
)
from bayplan.framework.plugin import (
    Comparable,
    Plugin,
    PostFilterResult,
    PreBindPreFlight,
    PreFilterResult,
    QueuedPod,
    Reads,
    registered_events,
    scores_alone,
)
from bayplan.framework.points import POINTS, Point
from bayplan.framework.preemption import Preemption
from bayplan.framework.registry import Registration, Registry
from bayplan.framework.runner import PermitOutcome, PreFilterOutcome, Runner
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, SKIP_ALIKE, SUCCESS, SUCCESS_ALONE, Code, Status
from bayplan.framework.verdict import (
    BoolArray,
    Decided,
    Diagnosis,
    FilterOutcome,
    FloatArray,
    IntArray,
    Rejection,
    ScoreArray,
    Verdict,
    extremes,
    has_any,
)
from bayplan.framework.watched_objects import Index, Informers, Lister

__all__ = [
    "MAX_SCORE",
    "MIN_SCORE",
    "POINTS",
    "SKIP",
    "SKIP_ALIKE",
    "SUCCESS",
    "SUCCESS_ALONE",
    "Action",
    "AmountsWhatIf",
    "Args",
    "BackgroundTask",
    "BindPlan",
    "BindingRunner",
    "BoolArray",
    "Candidate",
    "ClassScores",
    "Client",
    "Clock",
    "ClusterEvent",
    "Code",
    "Comparable",
    "CountClasses",
    "CycleState",
    "Decided",
    "Derived",
    "Diagnosis",
    "DirectEvaluator",
    "Domains",
    "Evaluation",
    "Evaluator",
    "EventRecorder",
    "FilterOutcome",
    "FloatArray",
    "Handle",
    "Hint",
    "Index",
    "Informers",
    "IntArray",
    "LabelColumn",
    "Lister",
    "Metrics",
    "NodeInfo",
    "NodeTable",
    "Nominator",
    "Observer",
    "PermitOutcome",
    "PlacedPlugin",
    "Plugin",
    "PluginCaller",
    "PluginError",
    "PluginMethod",
    "PluginScores",
    "PodQuery",
    "Point",
    "PostFilterResult",
    "PreBindPreFlight",
    "PreFilterOutcome",
    "PreFilterResult",
    "Preemption",
    "PreemptionReport",
    "ProfilePlugins",
    "QueuedPod",
    "QueueingHint",
    "Reads",
    "Registration",
    "Registry",
    "Rejection",
    "Resource",
    "Runner",
    "ScoreArray",
    "ScoreOutcome",
    "Scorer",
    "SearchPlan",
    "Snapshot",
    "Status",
    "TermColumn",
    "TermKind",
    "Verdict",
    "VictimRules",
    "Victims",
    "WaitingPod",
    "WaitingPods",
    "check_class",
    "create_plugin",
    "create_profile_plugins",
    "default_normalize",
    "extremes",
    "has_any",
    "registered_events",
    "scores_alone",
]
