"""Results whose rasters are resampled no earlier than somebody looks at one.

Consecutive geometric steps so cost, and blur, as much as one. Any step, also of another library, finds the rasters at
their places: whatever reads or replaces one has what is outstanding done first.
"""

from __future__ import annotations

from collections import UserDict
from typing import Any, Optional

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.transforms.fields import FIELDS, Results, move_points, raster_fault
from sapiens2.datasets.transforms.view import View, resize_matrix


class LazyResults(UserDict):
    """A dictionary of fields with a ``View`` that its rasters have yet to be sampled in.

    Points, boxes and K follow each step at once.
    """

    _outstanding: Optional[View] = None

    @classmethod
    def of(cls, results: Results) -> LazyResults:
        """``results``, lazy from now on. Arrays are neither copied nor changed.

        Raises:
            DataError: naming sample and field, if rasters differ in size or are not what ``FIELDS`` says.
        """
        if not isinstance(results, cls):
            results = cls(results)
        if results._outstanding is None:
            results._check()
        return results

    def _check(self) -> None:
        size = self.data['img'].shape[:2]
        for name in FIELDS:
            if name not in self.data:
                continue
            fault = raster_fault(name, self.data[name])
            if fault is None and self.data[name].shape[:2] != size:
                fault = f'{name} of height, width {self.data[name].shape[:2]}: the picture has {size}'
            if fault:
                sample = str(self.data.get('sample_id', 'a sample without sample_id'))
                raise DataError(Fault(Kind.SHAPE, sample, f'geometric steps cannot move {fault}', name))

    @property
    def view(self) -> View:
        """The present view of the stored rasters."""
        return View.whole(self.data['img'].shape[:2]) if self._outstanding is None else self._outstanding

    def look(self, view: View, turn: Optional[np.ndarray] = None) -> LazyResults:
        """Change to ``view``, with ``turn`` (3, 3) from the former to the new camera frame; returns itself."""
        move_points(self.data, view.stored_matrix @ np.linalg.inv(self.view.stored_matrix), turn)
        self.data['img_shape'] = view.size
        self._outstanding = view
        return self

    def peek(self, name: str) -> np.ndarray:
        """Raster ``name`` as it looks now, while the others stay outstanding."""
        raster = self.data[name]
        return raster if self._outstanding is None else self._outstanding.sample(name, raster)

    def settle(self, target_stride: int = 1) -> LazyResults:
        """Do what is outstanding, the fields beside the picture smaller by ``target_stride``; returns itself."""
        view, self._outstanding = self._outstanding, None
        if view is None:
            return self
        small = view if target_stride == 1 else view.resized(tuple(side // target_stride for side in view.size))
        for name in FIELDS:
            if name in self.data:
                self.data[name] = (view if name == 'img' else small).sample(name, self.data[name])
        if small is not view and 'K' in self.data:
            self.data['K'] = (resize_matrix(view.size, small.size) @ self.data['K']).astype(np.float32)
        return self

    def __getitem__(self, key: str) -> Any:
        if key in FIELDS:
            self.settle()
        return super().__getitem__(key)

    def __setitem__(self, key: str, item: Any) -> None:
        if key in FIELDS:
            self.settle()
        super().__setitem__(key, item)

    # These three of UserDict go past the two above.

    def __or__(self, other: Any) -> LazyResults:
        self.settle()
        return super().__or__(_settled(other))

    def __ror__(self, other: Any) -> LazyResults:
        self.settle()
        return super().__ror__(_settled(other))

    def __ior__(self, other: Any) -> LazyResults:
        self.settle()
        return super().__ior__(_settled(other))


def _settled(results: Any) -> Any:
    return results.settle() if isinstance(results, LazyResults) else results


def stored(results: Results, name: str) -> Any:
    """Field ``name`` as it is stored, which has the type but not the place that it will have."""
    return results.data[name] if isinstance(results, LazyResults) else results[name]
