"""The watch: from changes of objects in the API server to what the cache and the queue are told."""
