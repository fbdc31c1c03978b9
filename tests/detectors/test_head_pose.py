"""How heads are turned: angles, conventions and networks."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.detectors.faces import head_pose
from sapiens2.detectors.head_pose import OnnxHeadPose, angles_of, from_300w_lp, rotation_of, rotation_of_6d

ANGLES = [(0, 0, 0), (35, 0, 0), (0, -20, 0), (0, 0, 50), (-70, 15, -30), (170, 40, 100)]


@pytest.mark.parametrize('angles', ANGLES)
def test_angles_and_rotations_are_inverse(angles):
    rotation = rotation_of(*angles)
    assert np.allclose(rotation @ rotation.T, np.eye(3)) and np.linalg.det(rotation) == pytest.approx(1)
    assert angles_of(rotation) == pytest.approx(angles)


def test_the_signs_of_angles():
    looks = [-rotation_of(*angles)[:, 2] for angles in ((30, 0, 0), (0, 30, 0))]
    assert looks[0][0] > 0 and looks[1][1] < 0  # right and up in a picture whose y points down
    assert rotation_of(0, 0, 30)[1, 0] > 0  # the left eye, to the right in the picture, sinks: clockwise


@pytest.mark.parametrize('angles', ANGLES)
def test_the_pose_of_points_of_a_face(angles):
    mesh = np.zeros((468, 3))
    mesh[[33, 263, 10, 152]] = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]]
    assert angles_of(head_pose(mesh @ rotation_of(*angles).T)) == pytest.approx(angles)


def test_poses_of_300w_lp_turn_left_for_positive_yaw():
    def about(axis, degrees):
        cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        one, other = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(3)
        turn[[one, one, other, other], [one, other, one, other]] = cosine, -sine, sine, cosine
        return turn

    for axis, wanted in ((1, (-25, 0, 0)), (0, (0, 25, 0)), (2, (0, 0, 25))):
        assert angles_of(from_300w_lp(about(axis, 25))) == pytest.approx(wanted)
    # As their drawings of the head's axes have it, for all three at once: red, green and blue ends in the picture.
    yaw, pitch, roll = 30, 20, -40
    pose = from_300w_lp(about(2, roll) @ about(1, yaw) @ about(0, pitch))
    y, p, r = -np.radians(yaw), np.radians(pitch), np.radians(roll)
    assert pose[:2, 0] == pytest.approx([np.cos(y) * np.cos(r),
                                         np.cos(p) * np.sin(r) + np.cos(r) * np.sin(p) * np.sin(y)])
    assert pose[:2, 1] == pytest.approx([-np.cos(y) * np.sin(r),
                                         np.cos(p) * np.cos(r) - np.sin(p) * np.sin(y) * np.sin(r)])
    assert -pose[:2, 2] == pytest.approx([np.sin(y), -np.cos(y) * np.sin(p)])


def test_six_numbers_give_the_rotation_they_were_taken_from():
    rotation = rotation_of(20, -10, 5)
    assert rotation_of_6d(np.concatenate((3 * rotation[:, 0], 2 * rotation[:, 1] + rotation[:, 0]))) \
        == pytest.approx(rotation)


def network(path, values, size=None):
    """A network that says the same of every face; its input is of any size, unless given."""
    onnx = pytest.importorskip('onnx')
    pytest.importorskip('onnxruntime')
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    values = np.asarray(values, dtype=np.float32)
    nodes = [helper.make_node('ReduceMean', ['face'], ['mean'], keepdims=0), helper.make_node('Mul', ['mean', 'zero'],
             ['nothing']), helper.make_node('Add', ['values', 'nothing'], ['pose'])]
    graph = helper.make_graph(
        nodes, 'pose', [helper.make_tensor_value_info('face', onnx.TensorProto.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info('pose', onnx.TensorProto.FLOAT, values.shape)],
        [numpy_helper.from_array(values, 'values'), numpy_helper.from_array(np.float32(0), 'zero')])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=9), path)
    return path


PICTURE, BOX = np.full((80, 60, 3), 100, dtype=np.uint8), np.float32([20, 20, 70, 90])


@pytest.mark.parametrize('layout', ['rotation', 'flat', 'six', 'angles'])
def test_a_network_may_give_rotations_six_numbers_or_angles(tmp_path, layout):
    rotation = rotation_of(25, 10, -15)
    values = {'rotation': rotation[None], 'flat': rotation.reshape(1, 9),
              'six': rotation.T[:2].reshape(1, 6), 'angles': [[10, 25, -15]]}[layout]
    pose = OnnxHeadPose(network(tmp_path / 'pose.onnx', values), convention='camera', order=('pitch', 'yaw', 'roll'))
    assert angles_of(pose(PICTURE, BOX)) == pytest.approx((25, 10, -15), abs=1e-3)


def test_networks_of_300w_lp_are_the_default(tmp_path):
    pose = OnnxHeadPose(network(tmp_path / 'pose.onnx', [[25, 0, 0]], 64))
    assert angles_of(pose(PICTURE, BOX)) == pytest.approx((-25, 0, 0), abs=1e-3)


def test_what_cannot_work_is_named(tmp_path):
    pytest.importorskip('onnxruntime')
    with pytest.raises(FileNotFoundError, match='no such file'):
        OnnxHeadPose(tmp_path / 'none.onnx').setup()
    (tmp_path / 'text.onnx').write_text('this is no network')
    with pytest.raises(ValueError, match='text.onnx: is no file of ONNX'):
        OnnxHeadPose(tmp_path / 'text.onnx').setup()
    with pytest.raises(TypeError, match=r'pose \[1, 4\]'):
        OnnxHeadPose(network(tmp_path / 'pose.onnx', [[1, 2, 3, 4]]))(PICTURE, BOX)
    with pytest.raises(ValueError, match="Did you mean 'camera'"):
        OnnxHeadPose('a.onnx', convention='camra')
    with pytest.raises(ValueError, match='yaw, pitch, roll'):
        OnnxHeadPose('a.onnx', order=('yaw', 'yaw', 'roll'))
