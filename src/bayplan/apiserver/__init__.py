"""The embedded cluster: a Kubernetes API server in one process, with simulated nodes and their controllers.

Life of a request:

    transport ─▶ rest (routes, verbs) ─▶ codec (schemas, unknown fields, Go's JSON form) ─▶ patches, apply
              ─▶ registry ─▶ strategies (defaults, validation) ─▶ admission ─▶ storage ─▶ watches

`api_server` builds these and connects them. Everything between `transport` and `storage` is synchronous and
takes its time from an injected clock. A request is an `ApiRequest` and its result an `ApiResponse`, whether it
came over a socket or from the same process (`transport.local_transport`). `cluster` adds the simulated kubelets
(`simulation`), the controllers and a scheduler, which are clients like any other.
"""
