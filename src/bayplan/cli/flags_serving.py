"""The flags about the port that is served, and about who may ask what there."""

from __future__ import annotations

from typing import Final

from bayplan.cli.flag import NO_EFFECT, REFUSED, Flag, flag, group_of, seconds

_REQUEST_HEADERS: Final = (
    "nobody authenticates for others in front of a scheduler; show a token or a client certificate"
)
_HTTP1: Final = "HTTP/1.1 is served, which has no streams"

SERVING_FLAGS: Final[tuple[Flag, ...]] = (
    *group_of(
        "Secure serving",
        flag(
            "bind-address",
            "ip",
            "The address to serve on; 0.0.0.0 and :: are all of them.",
            "127.0.0.1",
            note="the default is loopback, not every address: what is served says much about a cluster",
        ),
        flag("secure-port", "int", "The port for HTTPS; 0 opens none.", 10259),
        flag(
            "cert-dir",
            "string",
            "Where kube-scheduler.crt and .key are, or are put when they are made.",
            metavar="DIR",
        ),
        flag(
            "tls-cert-file",
            "string",
            "The certificate to serve with; self-signed and in memory if there is none.",
            metavar="FILE",
        ),
        flag("tls-private-key-file", "string", "Its private key.", metavar="FILE"),
        flag(
            "tls-min-version",
            "string",
            "VersionTLS12 or VersionTLS13.",
            note="VersionTLS10 and VersionTLS11 are refused: nobody should serve them",
        ),
        flag("tls-cipher-suites", "strings", "The cipher suites of TLS 1.2, by Go's names."),
        flag(
            "tls-curve-preferences",
            "int32Slice",
            "Refused.",
            (),
            REFUSED,
            "Python's ssl module does not choose among curves",
        ),
        flag(
            "tls-sni-cert-key",
            "namedCertKey",
            "Refused.",
            (),
            REFUSED,
            "one certificate is served, whatever name is asked for",
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
            note="without it the scheduler's own connection is used, inside a cluster and outside",
        ),
        flag("authentication-skip-lookup", "bool", "Do not ask the cluster whose client certificates to believe."),
        flag(
            "authentication-token-webhook-cache-ttl",
            "duration",
            "How long the review of a token is good for.",
            seconds(10),
        ),
        flag(
            "authentication-tolerate-lookup-failure",
            "bool",
            "Serve even where that question is not answered.",
            True,
        ),
        flag(
            "client-ca-file",
            "string",
            "Believe client certificates that are signed by one of these.",
            metavar="FILE",
            note="a certificate that none of them has signed ends the handshake, where kube-scheduler goes on",
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
            "The cluster that says who may see what.",
            metavar="FILE",
            note="without it the scheduler's own connection is used, inside a cluster and outside",
        ),
        flag(
            "authorization-always-allow-paths",
            "strings",
            "Paths that anybody may see.",
            ("/healthz", "/readyz", "/livez"),
        ),
        flag("authorization-webhook-cache-authorized-ttl", "duration", "How long a yes is good for.", seconds(10)),
        flag(
            "authorization-webhook-cache-unauthorized-ttl", "duration", "How long a no is good for.", seconds(10)
        ),
    ),
)
