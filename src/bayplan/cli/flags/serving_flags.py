"""The flags for serving HTTPS, authentication and authorization."""

from __future__ import annotations

from typing import Final

from bayplan.cli.flags.flag import NO_EFFECT, REFUSED, Flag, flag, group_of, seconds

_REQUEST_HEADERS: Final = "authenticating proxies are not supported; use a token or a client certificate"
_HTTP1: Final = "only HTTP/1.1 is served, which has no streams"

SERVING_FLAGS: Final[tuple[Flag, ...]] = (
    *group_of(
        "Secure serving",
        flag(
            "bind-address",
            "ip",
            "The address to listen on; 0.0.0.0 or :: for all addresses.",
            "127.0.0.1",
            note="the default is loopback, not all addresses: the endpoints reveal much about a cluster",
        ),
        flag("secure-port", "int", "The port for HTTPS; 0 opens none.", 10259),
        flag(
            "cert-dir",
            "string",
            "The directory of kube-scheduler.crt and .key; they are created there if missing.",
            metavar="DIR",
        ),
        flag(
            "tls-cert-file",
            "string",
            "The serving certificate; without one, a self-signed certificate is kept in memory.",
            metavar="FILE",
        ),
        flag("tls-private-key-file", "string", "Its private key.", metavar="FILE"),
        flag(
            "tls-min-version",
            "string",
            "VersionTLS12 or VersionTLS13.",
            note="VersionTLS10 and VersionTLS11 are refused as insecure",
        ),
        flag("tls-cipher-suites", "strings", "The cipher suites of TLS 1.2, with Go's names."),
        flag(
            "tls-curve-preferences",
            "int32Slice",
            "Refused.",
            (),
            REFUSED,
            "Python's ssl module cannot select curves",
        ),
        flag(
            "tls-sni-cert-key",
            "namedCertKey",
            "Refused.",
            (),
            REFUSED,
            "one certificate is served, whatever the server name",
        ),
        flag("disable-http2-serving", "bool", "No effect.", False, NO_EFFECT, "HTTP/2 is not served in any case"),
        flag("http2-max-streams-per-connection", "int", "No effect.", 0, NO_EFFECT, _HTTP1),
        flag("permit-address-sharing", "bool", "Listen with SO_REUSEADDR."),
        flag("permit-port-sharing", "bool", "Listen with SO_REUSEPORT."),
    ),
    *group_of(
        "Authentication",
        flag(
            "authentication-kubeconfig",
            "string",
            "The cluster that reviews tokens.",
            metavar="FILE",
            note="without it the scheduler's own connection is used, inside and outside a cluster",
        ),
        flag(
            "authentication-skip-lookup", "bool", "Do not look up the client certificate authority in the cluster."
        ),
        flag(
            "authentication-token-webhook-cache-ttl",
            "duration",
            "How long the result of a token review is cached.",
            seconds(10),
        ),
        flag(
            "authentication-tolerate-lookup-failure",
            "bool",
            "Start even if that lookup fails.",
            True,
        ),
        flag(
            "client-ca-file",
            "string",
            "Accept client certificates signed by one of these authorities.",
            metavar="FILE",
            note="a certificate signed by none of them ends the handshake, where kube-scheduler continues",
        ),
        flag("requestheader-allowed-names", "strings", "Refused.", (), REFUSED, _REQUEST_HEADERS),
        flag("requestheader-client-ca-file", "string", "Refused.", "", REFUSED, _REQUEST_HEADERS),
        flag(
            "requestheader-extra-headers-prefix",
            "strings",
            "Refused.",
            ("x-remote-extra-",),
            REFUSED,
            _REQUEST_HEADERS,
        ),
        flag("requestheader-group-headers", "strings", "Refused.", ("x-remote-group",), REFUSED, _REQUEST_HEADERS),
        flag("requestheader-uid-headers", "strings", "Refused.", (), REFUSED, _REQUEST_HEADERS),
        flag(
            "requestheader-username-headers", "strings", "Refused.", ("x-remote-user",), REFUSED, _REQUEST_HEADERS
        ),
    ),
    *group_of(
        "Authorization",
        flag(
            "authorization-kubeconfig",
            "string",
            "The cluster that authorizes requests.",
            metavar="FILE",
            note="without it the scheduler's own connection is used, inside and outside a cluster",
        ),
        flag(
            "authorization-always-allow-paths",
            "strings",
            "Paths that need no authorization.",
            ("/healthz", "/readyz", "/livez"),
        ),
        flag(
            "authorization-webhook-cache-authorized-ttl",
            "duration",
            "How long a positive result is cached.",
            seconds(10),
        ),
        flag(
            "authorization-webhook-cache-unauthorized-ttl",
            "duration",
            "How long a negative result is cached.",
            seconds(10),
        ),
    ),
)
