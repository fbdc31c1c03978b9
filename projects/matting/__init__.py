"""Alpha mattes of people: a task added to sapiens2 from outside."""

from projects.matting import fields
from projects.matting.matting_head import MattingHead
from projects.matting.matting_losses import ForegroundL1Loss, LaplacianPyramidLoss
from projects.matting.matting_metric import MattingMetric
from projects.matting.transforms import ComposeMatte, EstimateForeground, PackMatte

fields.register()

__all__ = ['ComposeMatte', 'EstimateForeground', 'ForegroundL1Loss', 'LaplacianPyramidLoss', 'MattingHead',
           'MattingMetric', 'PackMatte']
