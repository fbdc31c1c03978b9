"""Tables as text."""

from __future__ import annotations

from sapiens2.utils.text_table import figure_table


def test_figures_of_classes_have_a_table_of_their_own() -> None:
    text = figure_table({'seg/mIoU_percent': 100 / 3, 'seg/IoU_percent/Hair': 50.0, 'seg/IoU_percent/Torso': 1 / 6,
                         'seg/Acc_percent/Hair': 70.0})
    assert [line.split() for line in text.splitlines()] == [
        ['figure', 'value'], ['seg/mIoU_percent', '33.3333'], [],
        ['class', 'seg/IoU_percent', 'seg/Acc_percent'], ['Hair', '50.0000', '70.0000'], ['Torso', '0.1667', '-']]


def test_figures_alone() -> None:
    assert figure_table({'pose/AP': 0.5}) == 'figure    value\npose/AP  0.5000'
