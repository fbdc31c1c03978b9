"""One data sample class for all tasks. Every field, with shape, unit and frame, is listed here."""

from __future__ import annotations

from mmengine.structures import BaseDataElement, InstanceData


def _field(name: str, kind: type) -> property:
    """A property that keeps a checked ``kind`` in MMEngine's data dictionary."""
    private = f'_{name}'
    return property(
        lambda self: getattr(self, private),
        lambda self, value: self.set_field(value, private, dtype=kind),
        lambda self: delattr(self, private))


class DataSample(BaseDataElement):
    """What is known and what is predicted of one network input.

    Meta information (plain Python values, ``sample.metainfo``):
        sample_id: str, names the sample in errors: image path, plus annotation id where there is one.
        img_path: str.
        img_id: int or str, image id of the annotation file.
        ori_shape: (H, W) of the source image, after EXIF orientation, in pixels.
        img_shape: (H, W) of the network input, in pixels.
        padding: (left, right, top, bottom), pixels of the network input that are padding.
        flip: bool, whether the input was mirrored left to right.
        input_center: (x, y), pixels of the source image: centre of the person's crop. Pose only.
        input_scale: (w, h), pixels of the source image: extent of the person's crop. Pose only.
        dataset_meta: not here; the data set and the metric share it as ``metainfo``.

    Data (tensors):
        gt_instances, pred_instances: ``InstanceData`` of the one person in a pose crop.
            bboxes (1, 4): x1, y1, x2, y2, pixels of the source image.
            bbox_scores (1,).
            keypoints (1, K, 2): x, y, pixels of the source image; pixel centres at integers.
            keypoints_visible (1, K): 1 labelled, 0 not labelled (ground truth).
            keypoint_scores (1, K): peak of the heat map (prediction).
            ann_id, area: of the annotation (ground truth).
        gt_fields: ``BaseDataElement`` of targets in the frame of the network input.
            heatmaps (K, h, w), float32, in [0, 1]; keypoint_weights (K,), float32.
            sem_seg (H, W), int64 class index, 255 ignored.
            normal (3, H, W), float32 unit vectors, camera frame (x right, y down, z forward; a surface that
                faces the camera has z < 0).
            depth (1, H, W), float32, metres along the optical axis.
            pointmap (3, H, W), float32, metres, camera frame.
            scale (1,), float32: canonical focal length over fx of the network input; pointmap * scale is what
                the pointmap head is trained to give.
            K (3, 3), float32 intrinsics of the network input, pixels.
            albedo (3, H, W), float32 RGB in [0, 1].
            mask (1, H, W), bool: pixels on people with valid ground truth.
        eval_fields: the dense targets at the size of the source image, for validation and test.
        pred_fields: predictions at the size of the source image, same names and units as ``gt_fields``;
            for seg also ``seg_logits`` and ``seg_probs`` (classes, H, W) on request.
    """

    gt_instances = _field('gt_instances', InstanceData)
    pred_instances = _field('pred_instances', InstanceData)
    gt_fields = _field('gt_fields', BaseDataElement)
    eval_fields = _field('eval_fields', BaseDataElement)
    pred_fields = _field('pred_fields', BaseDataElement)
