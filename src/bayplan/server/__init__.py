"""The HTTPS endpoints of a running scheduler: health, metrics, configuration and flags.

Who asks is found out from a certificate or by asking the API server about a token, and what they may see by asking
it again; the answers are kept for a short while.
"""

from bayplan.server.authentication import Authenticator, User
from bayplan.server.authorization import Authorizer
from bayplan.server.endpoints import Endpoints
from bayplan.server.secure import SecureServer, ServingOptions
from bayplan.server.tls import ServingError

__all__ = [
    "Authenticator",
    "Authorizer",
    "Endpoints",
    "SecureServer",
    "ServingError",
    "ServingOptions",
    "User",
]
