"""Detectors of people."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sapiens2.detectors import FacePeople, TransformersPeople
from sapiens2.detectors.base import people_inside


def test_boxes_are_cut_at_the_edges_and_ranked():
    people = people_inside([[-5, -5, 20, 20], [50, 50, 60, 60], [90, 10, 120, 30]], [0.5, 0.9, 0.7], (40, 100))
    assert people.boxes.tolist() == [[90, 10, 100, 30], [0, 0, 20, 20]]
    assert people.scores.tolist() == pytest.approx([0.7, 0.5])
    assert people_inside([], [], (40, 100)).boxes.shape == (0, 4)


def test_the_person_of_a_portrait_is_found_by_the_face():
    pytest.importorskip('ai_edge_litert')
    data = pytest.importorskip('skimage.data')
    detector = FacePeople()
    try:
        detector.setup()
    except ImportError as error:
        pytest.skip(str(error))
    portrait = np.ascontiguousarray(data.astronaut()[..., ::-1])
    found, nobody = detector([portrait, np.full((200, 300, 3), 120, dtype=np.uint8)])
    (x1, y1, x2, y2), = found.boxes
    assert x1 < 120 and x2 > 310 and y1 < 60 and y2 == 512
    assert not len(nobody.boxes)


@pytest.fixture
def rt_detr(tmp_path):
    """A random detector of people and bicycles, stored."""
    transformers = pytest.importorskip('transformers')
    torch.manual_seed(0)
    config = transformers.RTDetrConfig(
        d_model=32, encoder_hidden_dim=32, num_queries=10, decoder_layers=1, encoder_layers=1, decoder_ffn_dim=32,
        encoder_ffn_dim=32, decoder_attention_heads=2, encoder_attention_heads=2, num_denoising=0,
        id2label={0: 'bicycle', 1: 'person'}, label2id={'bicycle': 0, 'person': 1},
        backbone_config=transformers.RTDetrResNetConfig(
            hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], embedding_size=8, layer_type='basic',
            out_features=['stage2', 'stage3', 'stage4']),
        encoder_in_channels=[8, 8, 8], decoder_in_channels=[32, 32, 32])
    transformers.RTDetrForObjectDetection(config).save_pretrained(tmp_path / 'detr')
    transformers.RTDetrImageProcessor(size={'height': 64, 'width': 64}).save_pretrained(tmp_path / 'detr')
    return tmp_path / 'detr'


@pytest.mark.parametrize('size', [(2000, 3), (3, 2000), (1, 1), (2, 1)])
def test_nobody_is_in_a_picture_as_narrow_as_a_line(size):
    detector = FacePeople()
    try:
        detector.setup()
    except ImportError as error:
        pytest.skip(str(error))
    people, = detector([np.full((*size, 3), 90, np.uint8)])
    assert people.boxes.shape == (0, 4)


def test_a_detector_of_transformers_gives_people_only_inside_the_picture(rt_detr):
    pictures = [np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)]
    everyone = TransformersPeople(str(rt_detr), threshold=0.0)(pictures)[0]
    assert 0 < len(everyone.boxes) < 10 and (everyone.boxes >= 0).all()
    assert (everyone.boxes[:, [0, 2]] <= 120).all() and (everyone.boxes[:, [1, 3]] <= 90).all()
    assert (np.diff(everyone.scores) <= 0).all()
    assert not len(TransformersPeople(str(rt_detr), threshold=0.99)(pictures)[0].boxes)


def test_weights_that_are_not_there_are_not_downloaded():
    pytest.importorskip('transformers')
    with pytest.raises(ValueError, match='nobody/nothing: no detector in this folder'):
        TransformersPeople('nobody/nothing').setup()
