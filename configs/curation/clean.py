# Without any model: files that are broken, tiny, flat or too long and thin, animations, and duplicates.
source = dict(type='PretrainFolderDataset', data_root='data/photographs')
stages = [dict(type='Decode'), dict(type='Hashes')]
filters = [
    dict(type='Limit', column='frames', at_most=1),
    dict(type='Limit', column='shorter_side', at_least=384),
    dict(type='Limit', column='aspect', at_most=3),
    dict(type='Limit', column='contrast', at_least=4),
]
