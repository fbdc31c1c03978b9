"""The field that takes a visitor's picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import gradio as gr
from gradio.data_classes import ImageData


@dataclass(frozen=True)
class Upload:
    """A file as it was uploaded, not looked at yet, and the name that it had."""

    path: Path
    name: str


def upload_field(**options: Any) -> gr.Image:
    """Gradio's field for pictures, but the file comes as an ``Upload``: Gradio's decoding has no limits of its own.

    It takes files that were uploaded to this server alone; Gradio would fetch addresses, too, that a program sends.
    No event may have it as an output: Gradio would replace it by a field of its own.

    Args:
        options: of ``gr.Image``.
    """
    # No class of its own, because Gradio would write a file beside the module that defines it.
    field = gr.Image(type='filepath', **options)
    move = field.async_move_resource_to_block_cache

    async def move_uploads(path: Union[str, Path, None]) -> Optional[str]:
        if isinstance(path, str) and '://' in path:
            raise gr.Error('Addresses are not fetched: upload the picture.', print_exception=False)
        return await move(path)

    field.preprocess = _as_uploaded
    field.async_move_resource_to_block_cache = move_uploads
    return field


def _as_uploaded(payload: Optional[ImageData]) -> Optional[Upload]:
    if payload is None:
        return None
    if payload.path is None:
        raise gr.Error('The picture must be uploaded as a file.', print_exception=False)
    return Upload(Path(payload.path), payload.orig_name or Path(payload.path).name)
