"""How well faces are found, and what is said of them, on generated people, whose heads are known.

    sapiens2 synth --num 60 --size 1024 768 --seed 77 --val-every 0 --out data/heads
    python benchmarks/curation_faces.py data/heads
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from sapiens2.curation.stages.attributes import framing
from sapiens2.curation.stages.skin import tone, typology_angle
from sapiens2.detectors import FacePeople
from sapiens2.detectors.faces import Face, FaceFinder
from sapiens2.detectors.head_pose import angles_of

# Of the 308 key points.
_LEFT_EYE, _RIGHT_EYE, _NOSE_ROOT, _CHIN, _NOSE = 105, 129, 71, 77, 178
_SHOULDERS, _HIPS, _KNEES = (5, 6), (9, 10), (11, 12)
_FACE_NECK = 2  # class of the face's skin among the 29
_SMALLEST = 12  # pixels from nose root to chin


@dataclass
class Head:
    """What is known of a head: ``points`` (308, 3) and ``space`` (308, 3), pixels and metres in the camera's frame."""

    points: np.ndarray
    space: np.ndarray
    person: dict

    @property
    def pose(self) -> np.ndarray:
        """(3, 3), relative to the line of sight, which is what a face without its surroundings shows."""
        across = self.space[_LEFT_EYE] - self.space[_RIGHT_EYE]
        across = across / np.linalg.norm(across)
        down = self.space[_CHIN] - self.space[_NOSE_ROOT]
        down = down - across * (down @ across)
        down = down / np.linalg.norm(down)
        sight = self.space[_NOSE_ROOT] / np.linalg.norm(self.space[_NOSE_ROOT])
        turn = cv2.Rodrigues(np.cross([0, 0, 1], sight) * np.arccos(sight[2]) / max(np.linalg.norm(sight[:2]), 1e-9))[0]
        return turn.T @ np.column_stack((across, down, np.cross(across, down)))

    @property
    def size(self) -> float:
        """Pixels from nose root to chin, as if it were not turned."""
        length = np.linalg.norm(self.space[_CHIN] - self.space[_NOSE_ROOT])
        eyes, apart = (np.linalg.norm(values[_LEFT_EYE] - values[_RIGHT_EYE]) for values in (self.points, self.space))
        return float(length * eyes / max(apart, 1e-9)) if abs(angles_of(self.pose)[0]) < 45 else float(
            np.linalg.norm(self.points[_CHIN, :2] - self.points[_NOSE_ROOT, :2]))

    @property
    def framing(self) -> str:
        """By the joints that lie in the picture, whether seen or hidden by something."""
        inside = [any(self.points[number, 2] > 0 for number in joints) for joints in (_SHOULDERS, _HIPS, _KNEES)]
        return ('face', 'bust', 'half', 'full')[sum(inside)]


def heads_of(people: list[dict]) -> list[Head]:
    """Heads whose nose is seen."""
    found = []
    for person in people:
        points, space = np.array(person['keypoints']).reshape(-1, 3), np.array(person['keypoints_3d']).reshape(-1, 3)
        if points[_NOSE, 2] == 2:
            found.append(Head(points, space, person))
    return found


def face_of(head: Head, faces: list[Face]) -> Face | None:
    """The face whose box has the tip of the nose of a head nearest its middle, if it is in there."""
    nose = head.points[_NOSE, :2]
    inside = [face for face in faces if (face.box[:2] <= nose).all() and (nose <= face.box[2:]).all()]
    return min(inside, key=lambda face: np.linalg.norm(nose - (face.box[:2] + face.box[2:]) / 2), default=None)


def albedo_angle(folder: Path, name: str, mesh: np.ndarray) -> float | None:
    """Typology angle of the skin itself, as under even white light, where the same face lies."""
    linear = cv2.imread(str(folder / 'albedos' / f'{name}.png'), cv2.IMREAD_UNCHANGED) / 65535
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear**(1 / 2.4) - 0.055)
    return typology_angle(np.rint(encoded * 255).astype(np.uint8), mesh)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=Path, help='made by sapiens2 synth')
    folder = parser.parse_args().folder / 'train'
    finder, people = FaceFinder(), FacePeople()
    heads, found, errors, framings, tones = Counter(), Counter(), [], [], []
    false = 0
    for path in sorted((folder / 'images').iterdir()):
        picture = cv2.imread(str(path))
        faces = finder(picture)
        truth = heads_of(json.loads((folder / 'people' / f'{path.stem}.json').read_text())['people'])
        bodies = people([picture])[0].boxes
        matched = []
        for head in truth:
            yaw = abs(angles_of(head.pose)[0])
            kind = 'small' if head.size < _SMALLEST else '|yaw| < 30' if yaw < 30 else '30 to 60' if yaw < 60 \
                else '60 to 90' if yaw < 90 else 'from behind'
            heads[kind] += 1
            face = face_of(head, faces)
            if face is None:
                continue
            found[kind] += 1
            matched.append(id(face))
            if kind != 'small':
                errors.append((kind, np.array(face.angles) - angles_of(head.pose)))
            centre = (face.box[:2] + face.box[2:]) / 2
            body = next((box for box in bodies if (box[:2] <= centre).all() and (centre <= box[2:]).all()), None)
            if body is not None:
                framings.append((head.framing, framing(body, face.box), (body[3] - face.box[1])
                                 / (face.box[3] - face.box[1])))
            seen, real = typology_angle(picture, face.mesh), albedo_angle(folder, path.stem, face.mesh)
            if seen is not None and real is not None:
                tones.append((seen, real))
        false += sum(id(face) not in matched for face in faces)
    print('heads found:')
    for kind, count in heads.items():
        print(f'  {kind}: {found[kind]} of {count}')
    print(f'  faces where no nose is seen: {false}')
    print('yaw, pitch, roll, degrees:')
    for kind in (None, *heads):
        values = np.array([error for of, error in errors if kind in (None, of)])
        if len(values):
            values = (values + 180) % 360 - 180
            shift = np.median(values, axis=0)
            print(f'  {kind or "all"} ({len(values)}): mean absolute error {np.abs(values).mean(0).round(1)}, median '
                  f'error {shift.round(1)}, mean absolute error without it {np.abs(values - shift).mean(0).round(1)}')
    print('framing, true -> found:', dict(Counter((one, other) for one, other, _ in framings)))
    for name in ('face', 'bust', 'half', 'full'):
        print(f'  {name}: visible below the top of the face, in its heights:',
              np.round(np.sort([value for one, _, value in framings if one == name]), 1).tolist())
    seen, real = np.array(tones).T
    order = ['very light', 'light', 'intermediate', 'tan', 'brown', 'dark']
    apart = np.array([abs(order.index(tone(one)) - order.index(tone(other))) for one, other in tones])
    print(f'typology angle ({len(tones)}): correlation with that of the albedo {np.corrcoef(seen, real)[0, 1]:.2f}, '
          f'mean absolute error {np.abs(seen - real).mean():.1f}, median error {np.median(seen - real):.1f}; same bin '
          f'{(apart == 0).mean():.0%}, at most the next {(apart <= 1).mean():.0%}; bins of the albedo '
          f'{dict(Counter(tone(one) for one in real))}')


if __name__ == '__main__':
    main()
