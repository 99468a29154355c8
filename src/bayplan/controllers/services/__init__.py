"""What a Service selects: its EndpointSlices."""
