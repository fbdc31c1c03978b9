# Photographs of people, large enough to learn from: the pipeline of Sapiens2 with what works without any download.
# Its limits in pixels suit photographs whose shorter side is 1000 or more; --at-least person_side=200 moves one.
_base_ = ['./clean.py']
stages = [
    *_base_.stages,
    dict(type='Quality'),
    dict(type='Realism'),
    dict(type='Faces'),
    dict(type='PeopleByFaces'),
    dict(type='TextArea'),
]
filters = [
    *_base_.filters,
    dict(type='Limit', column='sharpness', at_least=4),
    dict(type='Limit', column='clipped', at_most=0.4),
    dict(type='Limit', column='realism', at_least=0.5),
    dict(type='Limit', column='person_side', at_least=384),
    dict(type='Limit', column='text_share', at_most=0.02),
]
quality = 'person_side'
