"""The framework: the contract between the scheduler and its plugins, and all that a plugin imports.

`plugin` is the file to read first. The rest of the package runs plugins and knows nothing of the cluster:
the cache implements `NodeTable`, the cycle calls the runners.
"""

from bayplan.config.args import Args
from bayplan.framework.answers import MAX_SCORE, MIN_SCORE, Answers, AskAlways, Scorer
from bayplan.framework.binding import BindingRunner, BindPlan
from bayplan.framework.calls import Bound, Caller, Observer
from bayplan.framework.candidates import Candidate, Considered, Victims
from bayplan.framework.classes import ClassScores
from bayplan.framework.construct import construct, construct_profile
from bayplan.framework.contract import PluginError, check_class
from bayplan.framework.diagnosis import Diagnosis
from bayplan.framework.events import Action, ClusterEvent, Hint, QueueingHint, Resource
from bayplan.framework.handle import (
    AmountsWhatIf,
    Client,
    Clock,
    Evaluation,
    EventRecorder,
    Handle,
    Informers,
    Lister,
    Nominator,
    Snapshot,
    WaitingPod,
    WaitingPods,
)
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
from bayplan.framework.normalize import default_normalize
from bayplan.framework.outcomes import Decided, FilterOutcome, PluginScores, ScoreOutcome
from bayplan.framework.plugin import (
    Plugin,
    PostFilterResult,
    PreBindPreFlight,
    PreFilterResult,
    Reads,
    registered_events,
    scores_alone,
)
from bayplan.framework.points import POINTS, Point
from bayplan.framework.preemption import Preemption
from bayplan.framework.profile import Placed, ProfilePlugins
from bayplan.framework.registry import Registration, Registry
from bayplan.framework.runner import PermitOutcome, PreFilterOutcome, Runner
from bayplan.framework.searching import Search
from bayplan.framework.state import CycleState
from bayplan.framework.status import SUCCESS, Code, Status
from bayplan.framework.verdict import (
    BoolArray,
    FloatArray,
    IntArray,
    Rejection,
    ScoreArray,
    Verdict,
    extremes,
    has_any,
)

__all__ = [
    "MAX_SCORE",
    "MIN_SCORE",
    "POINTS",
    "SUCCESS",
    "Action",
    "AmountsWhatIf",
    "Answers",
    "Args",
    "AskAlways",
    "BindPlan",
    "BindingRunner",
    "BoolArray",
    "Bound",
    "Caller",
    "Candidate",
    "ClassScores",
    "Client",
    "Clock",
    "ClusterEvent",
    "Code",
    "Considered",
    "CountClasses",
    "CycleState",
    "Decided",
    "Derived",
    "Diagnosis",
    "Domains",
    "Evaluation",
    "EventRecorder",
    "FilterOutcome",
    "FloatArray",
    "Handle",
    "Hint",
    "Informers",
    "IntArray",
    "LabelColumn",
    "Lister",
    "NodeInfo",
    "NodeTable",
    "Nominator",
    "Observer",
    "PermitOutcome",
    "Placed",
    "Plugin",
    "PluginError",
    "PluginScores",
    "PodQuery",
    "Point",
    "PostFilterResult",
    "PreBindPreFlight",
    "PreFilterOutcome",
    "PreFilterResult",
    "Preemption",
    "ProfilePlugins",
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
    "Search",
    "Snapshot",
    "Status",
    "TermColumn",
    "TermKind",
    "Verdict",
    "Victims",
    "WaitingPod",
    "WaitingPods",
    "check_class",
    "construct",
    "construct_profile",
    "default_normalize",
    "extremes",
    "has_any",
    "registered_events",
    "scores_alone",
]
