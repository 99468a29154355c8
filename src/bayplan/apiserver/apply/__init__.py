"""Server-side apply and field ownership.

`applied` merges a configuration into an object. `track_update` records in the object itself who wrote which
fields in an ordinary write. `OwnershipTracker` does the same at almost no cost for objects that are never applied.
"""

from bayplan.apiserver.apply.ownership import WriteTarget
from bayplan.apiserver.apply.reset_fields import target_of
from bayplan.apiserver.apply.tracking import OwnershipTracker
from bayplan.apiserver.apply.writes import ApplyOptions, applied, track_update

__all__ = ["ApplyOptions", "OwnershipTracker", "WriteTarget", "applied", "target_of", "track_update"]
