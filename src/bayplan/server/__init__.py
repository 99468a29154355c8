"""The HTTPS endpoints of a running scheduler: health, metrics, configuration and flags.

Clients are authenticated by certificate or by a TokenReview, and authorized by a SubjectAccessReview; the results
are cached for a short time.
"""

from bayplan.server.authentication import DelegatingAuthenticator, User
from bayplan.server.authorization import DelegatingAuthorizer
from bayplan.server.http_endpoints import Endpoints
from bayplan.server.secure import SecureServer, ServingOptions
from bayplan.server.serving_certificates import ServingError

__all__ = [
    "DelegatingAuthenticator",
    "DelegatingAuthorizer",
    "Endpoints",
    "SecureServer",
    "ServingError",
    "ServingOptions",
    "User",
]
