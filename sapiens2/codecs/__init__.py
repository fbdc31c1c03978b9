"""Encode and decode of a target in one class."""

from sapiens2.codecs.udp_heatmap import UDPHeatmap

__all__ = ['UDPHeatmap']
