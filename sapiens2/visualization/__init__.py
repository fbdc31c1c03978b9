"""Pictures of people's poses and of dense maps, and MMEngine's visualizer made of them."""

from sapiens2.visualization.human_visualizer import HumanVisualizer
from sapiens2.visualization.layout import beside, contact_sheet
from sapiens2.visualization.pictures import draw_field, draw_people

__all__ = ['HumanVisualizer', 'beside', 'contact_sheet', 'draw_field', 'draw_people']
