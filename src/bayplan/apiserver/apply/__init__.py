"""Server-side apply, and who owns what between applies.

`applied` merges a configuration into an object; `track_update` notes who wrote what in ordinary writes, in the
object itself; `Ownership` does the same at next to no cost for objects that nobody applies.
"""

from bayplan.apiserver.apply.ownership import View
from bayplan.apiserver.apply.requests import Apply, applied, track_update
from bayplan.apiserver.apply.tracking import Ownership
from bayplan.apiserver.apply.views import view_of

__all__ = ["Apply", "Ownership", "View", "applied", "track_update", "view_of"]
