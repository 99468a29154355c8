"""The generic write and read path of every kind, between the REST verbs and storage.

`api_resources` lists the kinds that are served, `rest_strategy` has the hooks that a kind implements, and
`resource_registry` creates, updates, reads and deletes objects through them.
"""
