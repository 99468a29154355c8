"""The embedded cluster: a Kubernetes API server in one process, with simulated nodes and their controllers.

The way of a request, each station a module or a subpackage:

    http ─▶ rest (routes, verbs) ─▶ codec (schemas: unknown fields, Go's JSON form) ─▶ patches, apply
                                ─▶ strategies (defaults, rules of a kind) ─▶ admission ─▶ store ─▶ watches

Everything between `http` and `store` is synchronous and takes its time from an injected clock: a request is an
`exchange.Request`, an answer an `exchange.Response`, whether it came over a socket or from the same process
(`local`). Controllers and kubelets are clients like any other.
"""
