"""Small helpers without a registry."""
