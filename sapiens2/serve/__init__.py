"""A page in the browser on which people try the networks: ``sapiens2 serve``."""

from sapiens2.serve.settings import NetworkSpec, ServeSettings, network_specs

__all__ = ['NetworkSpec', 'ServeSettings', 'network_specs']
