"""How requests reach the server: HTTPS with a bearer token, or calls within the same process."""
