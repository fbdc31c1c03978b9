"""Writes miniatures of public sets, as they are downloaded and unpacked, without faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np
from PIL import Image

from sapiens2.datasets.metainfo import COCO17_NAMES

COCO_SIZE = (60, 80)  # (H, W), pixels, here and below
PARSING_SIZE = (40, 30)
SCAN_SIZE = (96, 72)
BALL_SIZE = (64, 48)
WHOLEBODY = {'foot_kpts': 6, 'face_kpts': 68, 'lefthand_kpts': 21, 'righthand_kpts': 21}
COCO_FILES = {'coco': 'person_keypoints_{}2017.json', 'coco-wholebody': 'coco_wholebody_{}_v1.0.json'}
HI4D_CAMERAS = (4, 16)
HI4D_PEOPLE = (((-0.25, 0.9, 0.0), (0.25, 0.9, 0.2)), ((0.3, 0.85, 0.1), (0.3, 0.85, 0.25)))  # centre, axes of eggs
INTRINSICS = np.array([[90.0, 0, 23.5], [0, 90, 31.5], [0, 0, 1]])
CENTRE, RADIUS = np.array([0.05, -0.1, 2.0]), 0.5  # of the ball, metres


def coco_person(number: int, image: int, **changes: Any) -> dict[str, Any]:
    """An annotation of a person in the rectangle from (10, 5) to (40, 55)."""
    points = np.full((17, 3), 2.0)
    points[:, 0], points[:, 1] = np.linspace(12, 38, 17), np.linspace(8, 52, 17)
    points[3] = 0
    parts = {name: [20.0, 30.0, 1.0] * count for name, count in WHOLEBODY.items()}
    flags = {f'{name.removesuffix("_kpts")}_valid': name != 'face_kpts' for name in WHOLEBODY}
    return {'id': number, 'image_id': image, 'category_id': 1, 'iscrowd': 0, 'num_keypoints': 16, 'area': 1500.0,
            'bbox': [10.0, 5.0, 30.0, 50.0], 'keypoints': points.ravel().tolist(),
            'segmentation': [[10, 5, 40, 5, 40, 55, 10, 55]], **parts, **flags, **changes}


def write_coco(root: Path, name: str, more: Sequence[dict[str, Any]] = (), missing: Sequence[int] = ()) -> None:
    """Two splits with a photograph of a person, a grey one, and one of an animal.

    Args:
        name: coco or coco-wholebody.
        more: further annotations.
        missing: ids of images that are listed and not there.
    """
    height, width = COCO_SIZE
    dog = {'id': 6, 'image_id': 3, 'category_id': 18, 'bbox': [0, 0, 5, 5], 'iscrowd': 0}
    annotations = [coco_person(1, 1), coco_person(2, 2), *more, dog]
    annotations.sort(key=lambda annotation: annotation['image_id'])
    images = [dict(id=i, file_name=f'{i:012d}.jpg', height=height, width=width, license=1) for i in (1, 2, 3, *missing)]
    categories = [dict(id=1, name='person', supercategory='person', keypoints=list(COCO17_NAMES), skeleton=[]),
                  dict(id=18, name='dog', supercategory='animal')]
    for split in ('train', 'val'):
        folder = root / 'images' / f'{split}2017'
        folder.mkdir(parents=True)
        for image in images[:3]:
            Image.new('L' if image['id'] == 2 else 'RGB', (width, height)).save(folder / image['file_name'])
        path = root / 'annotations' / COCO_FILES[name].format(split)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(dict(info={}, licenses=[], images=images, annotations=annotations,
                                        categories=categories)))


def write_photograph(path: Path, size: tuple[int, int] = PARSING_SIZE[::-1], mode: str = 'RGB') -> None:
    """Noise of ``size`` (W, H)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.effect_noise(size, 90).convert(mode).save(path)


def write_labels(path: Path, labels: np.ndarray) -> None:
    """A label map (H, W); with a palette if the name of the file begins with that word."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(labels)
    if path.stem.startswith('palette'):
        image = image.convert('P')
        image.putpalette(list(range(256)) * 3)
    image.save(path)


def all_labels() -> np.ndarray:
    """A label map with the labels 0 to 19."""
    return (np.arange(np.prod(PARSING_SIZE)) % 20).astype(np.uint8).reshape(PARSING_SIZE)


def parsing_layout(root: Path, name: str, split: str) -> tuple[Path, Path, Path]:
    """Folders of photographs and label maps, and the list, of lip or cihp as unpacked."""
    if name == 'lip':
        return (root / f'TrainVal_images/TrainVal_images/{split}_images',
                root / f'TrainVal_parsing_annotations/TrainVal_parsing_annotations/{split}_segmentations',
                root / f'TrainVal_images/{split}_id.txt')
    top = root / 'instance-level_human_parsing' / {'train': 'Training', 'val': 'Validation'}[split]
    return top / 'Images', top / 'Category_ids', top / f'{split}_id.txt'


def write_parsing(root: Path, name: str) -> None:
    """A grey photograph, and one whose label map has a palette, of lip or cihp."""
    for split in ('train', 'val'):
        images, labels, names = parsing_layout(root, name, split)
        for stem in ('77_471474', 'palette_1'):
            write_photograph(images / f'{stem}.jpg', mode='L' if stem == '77_471474' else 'RGB')
            write_labels(labels / f'{stem}.png', all_labels())
        names.write_text('77_471474\npalette_1\n')


def write_celebamask(root: Path, count: int = 4) -> None:
    """CelebAMask-HQ with parts as grey and as RGB, and all three splits."""
    rows = ['idx orig_idx orig_file', '0 119613 119614.jpg', '1 162771 162772.jpg', '2 182637 182638.jpg',
            '3 182638 182639.jpg', '4 5 000006.jpg']
    top = root / 'CelebAMask-HQ'
    top.mkdir(parents=True)
    (top / 'CelebA-HQ-to-CelebA-mapping.txt').write_text('\n'.join(rows[:count + 1]) + '\n')
    areas = {'skin': (0, 16), 'hair': (14, 20), 'l_eye': (2, 4), 'eye_g': (1, 5), 'mouth': (6, 8), 'u_lip': (5, 6),
             'l_lip': (8, 9), 'cloth': (20, 30)}
    for number in range(count):
        write_photograph(top / f'CelebA-HQ-img/{number}.jpg', (64, 64))
        for part, (first, last) in areas.items():
            mask = np.zeros((32, 32), np.uint8)
            mask[first:last] = 255
            if part == 'hair':
                mask = np.stack([mask] * 3, axis=-1)
            write_labels(top / f'CelebAMask-HQ-mask-anno/{number // 2000}/{number:05d}_{part}.png', mask)


def egg(centre: tuple[float, float, float], axes: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of an ellipsoid."""
    import trimesh
    ball = trimesh.creation.icosphere(subdivisions=4)
    return np.asarray(ball.vertices) * axes + centre, np.asarray(ball.faces)


def write_thuman(root: Path) -> None:
    """Three scans of eggs of height 1, red where x is small."""
    vertices, faces = egg((0.2, 0.4, -0.1), (0.2, 0.5, 0.15))
    rows = [f'v {x:.6f} {y:.6f} {z:.6f}' for x, y, z in vertices]
    # Red where u is small, that is for small x, which a camera at +z sees on the left.
    rows += [f'vt {0.25 + 0.5 * (x - 0.0) / 0.4:.6f} {y:.6f}' for x, y, _ in vertices]
    rows += ['f ' + ' '.join(f'{corner + 1}/{corner + 1}' for corner in face) for face in faces]
    texture = np.zeros((64, 64, 3), np.uint8)
    texture[:, :32, 2], texture[:, 32:, 0] = 200, 200
    for name in ('0000', '0001', '0525'):
        folder = root / 'THuman2.1 Release' / name
        folder.mkdir(parents=True)
        (folder / f'{name}.obj').write_text('\n'.join(['mtllib material0.mtl', 'usemtl material0', *rows]) + '\n')
        (folder / 'material0.mtl').write_text('newmtl material0\nmap_Kd material0.jpeg\n')
        cv2.imwrite(str(folder / 'material0.jpeg'), texture, [cv2.IMWRITE_JPEG_QUALITY, 100])


def hi4d_cameras(distortion: float) -> dict[str, np.ndarray]:
    """Two cameras, level and turned by a third of a circle; the second bends straight lines."""
    from sapiens2.datasets.converters.thuman import circle
    points = np.concatenate([egg(*person)[0] for person in HI4D_PEOPLE])
    found = [circle(points, angle, SCAN_SIZE) for angle in (0.3, 2.4)]
    return {'ids': np.array(HI4D_CAMERAS), 'intrinsics': np.stack([camera.intrinsics for camera in found]),
            'extrinsics': np.stack([np.c_[camera.rotation, camera.translation] for camera in found]),
            'dist_coeffs': np.array([[0.0] * 5, [distortion, 0, 0, 0, 0]])}


def write_hi4d(root: Path) -> None:
    """Frames 11 to 13 of a pair: outlines drawn by OpenCV's projection."""
    top, cameras, people = root / 'pair00/dance00', hi4d_cameras(-0.6), [egg(*person) for person in HI4D_PEOPLE]
    (top / 'cameras').mkdir(parents=True)
    np.savez(top / 'cameras/rgb_cameras.npz', **cameras)
    np.savez(top / 'meta.npz', start=11, end=13)
    for frame in (11, 12, 13):
        for number, (vertices, faces) in enumerate(people):
            path = top / f'seg/instance/{number}/mesh-f{frame:05d}.npz'
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, vertices=vertices, faces=faces)
        for i, camera in enumerate(HI4D_CAMERAS):
            image = top / f'images/{camera}/{frame:06d}.jpg'
            mask = top / f'seg/img_seg_mask/{camera}/all/{frame:06d}.png'
            drawn = np.zeros(SCAN_SIZE, np.uint8)
            for vertices, _ in people:
                points = cv2.projectPoints(vertices, cv2.Rodrigues(cameras['extrinsics'][i][:, :3])[0],
                                           cameras['extrinsics'][i][:, 3], cameras['intrinsics'][i],
                                           cameras['dist_coeffs'][i])[0]
                cv2.fillConvexPoly(drawn, cv2.convexHull(points.round().astype(np.int32)), 255)
            for path in (image, mask):
                path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(image), np.dstack([drawn] * 3))
            cv2.imwrite(str(mask), drawn)


def ball() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth (H, W) in metres, normals (H, W, 3) in our camera frame, and where the ball is."""
    height, width = BALL_SIZE
    rays = np.stack([*np.meshgrid((np.arange(width) - 23.5) / 90, (np.arange(height) - 31.5) / 90),
                     np.ones(BALL_SIZE)], axis=-1)
    half, square = rays @ CENTRE, (rays * rays).sum(axis=-1)
    root = half**2 - square * (CENTRE @ CENTRE - RADIUS**2)
    depth = (half - np.sqrt(np.maximum(root, 0))) / square
    return depth, (rays * depth[..., None] - CENTRE) / RADIUS, root > 0


def write_exr(path: Path, channels: dict[str, np.ndarray]) -> None:
    import OpenEXR
    header = {'compression': OpenEXR.ZIP_COMPRESSION, 'type': OpenEXR.scanlineimage}
    with OpenEXR.File(header, {name: np.ascontiguousarray(values, np.float16) for name, values in channels.items()}) \
            as file:
        file.write(str(path))


def write_synthhuman_sample(folder: Path, number: int, signs: tuple[int, int, int] = (1, -1, -1), scale: float = 100,
                            leave_out: Optional[str] = None) -> None:
    """One sample as the set stores it; 65504 where there is no depth."""
    folder.mkdir(parents=True, exist_ok=True)
    depth, normal, inside = ball()
    stored = np.where(inside[..., None], normal * signs, 0)
    alpha = np.where(inside, 255, 0).astype(np.uint8)
    if leave_out != 'alpha':
        Image.fromarray(alpha).save(folder / f'alpha_{number:07d}.png')
    if leave_out != 'depth':
        write_exr(folder / f'depth_{number:07d}.exr', {'Y': np.where(inside, depth * scale, 65504)})
    if leave_out != 'normal':
        write_exr(folder / f'normal_{number:07d}.exr', dict(zip('RGB', np.moveaxis(stored, -1, 0))))
    if leave_out != 'cam':
        np.savetxt(folder / f'cam_{number:07d}.txt', INTRINSICS)
    Image.fromarray(np.dstack([alpha] * 3)).save(folder / f'rgb_{number:07d}.png')


def _write_synthhuman(root: Path) -> None:
    for number in range(3):
        write_synthhuman_sample(root / 'SynthHuman/SynthHuman_0000', number)


# Name of a set as `sapiens2 data convert` has it -> what writes its miniature below a folder.
SOURCES: dict[str, Callable[[Path], None]] = {
    'coco': lambda root: write_coco(root, 'coco'),
    'coco-wholebody': lambda root: write_coco(root, 'coco-wholebody'),
    'lip': lambda root: write_parsing(root, 'lip'),
    'cihp': lambda root: write_parsing(root, 'cihp'),
    'celebamask-hq': write_celebamask,
    'synthhuman': _write_synthhuman,
    'thuman': write_thuman,
    'hi4d': write_hi4d,
}
