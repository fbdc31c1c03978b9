"""The table of a benchmark."""

from __future__ import annotations

from typing import Any

from sapiens2.evaluation.benchmark.table import markdown


def row(name: str, task: str = 'pointmap', **entries: Any) -> dict[str, Any]:
    return {'name': name, 'task': task, 'data': 'data', 'command': f'sapiens2 test {name}', 'align': 'none',
            'status': 'done', **entries}


def table(*rows: dict[str, Any]) -> list[str]:
    return markdown({'spec': 's.yml', 'rows': rows, 'versions': {'torch': '2'}, 'hardware': {'gpu': 'none'}}
                    ).splitlines()


def test_cells() -> None:
    lines = table(
        row('a', images=1200, figures={'pointmap/l2_m': 0.125, 'pointmap/other': 1.0}, parameters=5155060,
            multiply_adds=1370000000, images_per_second=12.346),
        row('b', align='scale', images=3, figures={
            'pointmap/l2_m': 0.1, 'depth/abs_rel': 0.2, 'predictions/images': 3.0, 'predictions/missing_pixels': 40.0}),
        row('c', status='failed', error='ValueError: x\n | y'), row('d', status='not measured', error=None),
        row('f', status='failed', error='x' * 500),
        row('e', task='seg', images=1, figures={'seg/mIoU_percent': 50.0}))
    assert '| row | aligned by | images | l2, m | depth abs rel | parameters | multiply-adds | images/s | note |' \
        in lines
    assert '| a | none | 1,200 | 0.1250 | - | 5,155,060 | 1.37 G | 12.35 |  |' in lines
    assert '| b | scale | 3 | 0.1000 | 0.2000 | - | - | - | 40 pixels left out |' in lines
    assert '| c | none | - | - | - | - | - | - | failed: ValueError: x \\| y |' in lines
    assert f'| f | none | - | - | - | - | - | - | failed: {"x" * 200} ... |' in lines
    assert '| d | none | - | - | - | - | - | - | not measured |' in lines
    assert '| row | images | mIoU, % | parameters | multiply-adds | images/s |' in lines
    assert '## pointmap: data' in lines and '## seg: data' in lines and '# e' in lines and 'sapiens2 test e' in lines
    assert '* torch 2' in lines and '* gpu: none' in lines


def test_columns_of_all_lines_agree() -> None:
    lines = [line.replace('\\|', '') for line in table(
        row('a', images=1, figures={'pointmap/l2_m': 1.0, 'depth/abs_rel': 1.0}), row('b', status='failed', error='x'))
        if line.startswith('|')]
    assert len({line.count('|') for line in lines}) == 1
