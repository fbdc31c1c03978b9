# As humans.py, and of what is left half, so that framing, head angles, light, company and skin become more even.
_base_ = ['./humans.py']
stages = [*_base_.stages, dict(type='Attributes'), dict(type='SkinTone')]
# For clusters of what pictures show besides, add dict(type='Embedding', backbone=...) to the stages, and take
# embedding='embedding' below.
balance = dict(
    target=0.5,
    embedding=None,
    attributes=dict(
        framing=None,
        head_yaw=[-60, -20, 20, 60],
        head_pitch=[-20, 20],
        num_people=[2, 3, 6],
        cut_sides=[1, 2],
        covered=[0.05, 0.3],
        light=[0.08, 0.2, 0.4],
        backlight=[-1.5, 1.5],
        skin_tone=None,
    ))
