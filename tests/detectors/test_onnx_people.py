"""Exported detectors of people, in every layout of outputs."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.detectors import FacePeople, OnnxPeople, TransformersPeople, person_detector

onnx = pytest.importorskip('onnx')
pytest.importorskip('onnxruntime')
SIZE = 64
# Of a picture 40 high and 32 wide, which fills the input 64 x 51: two people, one twice, and a dog.
BOXES = np.float32([[0, 0, 32, 60], [1, 0, 33, 60], [34, 10, 80, 40], [0, 0, 10, 10]])
SCORES, LABELS = np.float32([0.9, 0.8, 0.7, 0.95]), np.int64([0, 0, 0, 16])
PICTURE = np.full((40, 32, 3), 200, dtype=np.uint8)


def detector(path, outputs):
    """A network that finds the same in every picture; it also tells the mean of what it is shown, in ``seen``."""
    helper = onnx.helper
    kinds = {np.dtype('float32'): onnx.TensorProto.FLOAT, np.dtype('int64'): onnx.TensorProto.INT64}
    nodes = [helper.make_node('Identity', [f'constant_{name}'], [name]) for name in outputs]
    graph = helper.make_graph(
        nodes, 'people', [helper.make_tensor_value_info('picture', onnx.TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [helper.make_tensor_value_info(name, kinds[value.dtype], value.shape) for name, value in outputs.items()],
        [onnx.numpy_helper.from_array(value, f'constant_{name}') for name, value in outputs.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=9), path)
    return path


def by_class():
    scores = np.zeros((1, 4, 20), dtype=np.float32)
    scores[0, np.arange(4), LABELS] = SCORES
    return scores


def cells():
    """YOLOX's output: all cells of strides 8, 16 and 32; the boxes are those of the first cells."""
    found = np.zeros((1, 64 + 16 + 4, 5 + 20), dtype=np.float32)
    centres, sizes = (BOXES[:, :2] + BOXES[:, 2:]) / 2, BOXES[:, 2:] - BOXES[:, :2]
    found[0, :4, :2] = centres / 8 - np.column_stack((np.arange(4), np.zeros(4)))
    found[0, :4, 2:4] = np.log(sizes / 8)
    found[0, :4, 4] = 1
    found[0, :4, 5:] = by_class()[0]
    return found


LAYOUTS = {
    'boxes with scores, labels': {'dets': np.column_stack((BOXES, SCORES))[None], 'labels': LABELS[None]},
    'people only': {'dets': np.column_stack((BOXES, SCORES))[None, :3]},
    'boxes, scores, labels and their number': {
        'num_dets': np.int64([[4]]), 'boxes': np.vstack((BOXES, BOXES[:1]))[None],
        'scores': np.append(SCORES, 0.99)[None].astype(np.float32), 'labels': np.append(LABELS, 0)[None]},
    'boxes, scores of classes': {'boxes': BOXES[None], 'scores': by_class()},
    'cells': {'output': cells()},
}


@pytest.mark.parametrize('layout', LAYOUTS)
def test_people_are_read_from_every_layout(tmp_path, layout):
    found, = OnnxPeople(detector(tmp_path / 'rtmdet.onnx', LAYOUTS[layout]))([PICTURE])
    assert found.scores == pytest.approx([0.9, 0.7], abs=1e-5)
    assert found.boxes[0] == pytest.approx(np.float32([0, 0, 32, 60]) / 1.6, abs=1e-3)
    assert found.boxes[1] == pytest.approx([34 / 1.6, 10 / 1.6, 32, 25], abs=1e-3)  # cut at the edge of the picture


def test_thresholds(tmp_path):
    path = detector(tmp_path / 'yolox.onnx', LAYOUTS['people only'])
    assert len(OnnxPeople(path, threshold=0.85)([PICTURE])[0].boxes) == 1
    assert len(OnnxPeople(path, overlap=1.0)([PICTURE])[0].boxes) == 3


@pytest.mark.parametrize(('family', 'value'), [('rtmdet', (200 - 116.28) / 57.12), ('yolox', 200)])
def test_values_are_as_each_family_expects(tmp_path, family, value):
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node('Slice', ['picture', 'start', 'end'], ['part']),
         helper.make_node('Reshape', ['part', 'shape'], ['dets'])], 'seen',
        [helper.make_tensor_value_info('picture', onnx.TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [helper.make_tensor_value_info('dets', onnx.TensorProto.FLOAT, [1, 1, 5])],
        [onnx.numpy_helper.from_array(np.int64(values), name) for name, values in (
            ('start', [0, 1, 0, 0]), ('end', [1, 2, 1, 5]), ('shape', [1, 1, 5]))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=9),
              tmp_path / 'seen.onnx')
    people = OnnxPeople(tmp_path / 'seen.onnx', family, threshold=-9)
    shown = []
    people._read = lambda outputs, size: (shown.append(outputs['dets']), (np.zeros((0, 4)), np.zeros(0)))[1]
    people([PICTURE])
    assert shown[0].ravel() == pytest.approx(value, abs=1e-3)


def test_what_cannot_work_is_named(tmp_path):
    with pytest.raises(ValueError, match='set family'):
        OnnxPeople('detector.onnx')
    with pytest.raises(ValueError, match="Did you mean 'yolox'"):
        OnnxPeople('detector.onnx', 'yolo')
    with pytest.raises(FileNotFoundError, match='no such file'):
        OnnxPeople(tmp_path / 'yolox.onnx').setup()
    path = detector(tmp_path / 'rtmdet.onnx', {'odd': np.zeros((1, 7, 3), dtype=np.float32)})
    with pytest.raises(TypeError, match=r'odd \[1, 7, 3\]'):
        OnnxPeople(path)([PICTURE])
    path = detector(tmp_path / 'yolox.onnx', {'odd': np.zeros((1, 7, 85), dtype=np.float32)})
    with pytest.raises(TypeError, match=r'odd \[1, 7, 85\]'):
        OnnxPeople(path)([PICTURE])


def test_detectors_by_name():
    assert isinstance(person_detector('faces'), FacePeople)
    found = person_detector('some/rtmdet-m.onnx', 0.3)
    assert isinstance(found, OnnxPeople) and found.threshold == 0.3
    assert isinstance(person_detector('PekingU/rtdetr_r50vd'), TransformersPeople)
