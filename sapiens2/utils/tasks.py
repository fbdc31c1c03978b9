"""The five tasks. Nothing is imported here, so that the help of the command comes at once."""

# Task -> type of its decoder.
HEAD_OF_TASK = {'pose': 'PoseHeatmapHead', 'seg': 'SegHead', 'normal': 'NormalHead', 'pointmap': 'PointmapHead',
                'albedo': 'AlbedoHead'}
TASKS = tuple(HEAD_OF_TASK)
