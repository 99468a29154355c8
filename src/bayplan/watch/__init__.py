"""Lists and watches the API server, and applies the changes to the cache and the queue."""
