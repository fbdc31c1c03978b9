"""The field that takes a visitor's picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

import gradio as gr
from gradio.data_classes import ImageData


@dataclass(frozen=True)
class Upload:
    """A file as it was uploaded, not looked at yet, and the name that it had."""

    path: Path
    name: str


class UploadField(gr.Image):
    """Gradio's field, but the file comes as it is: Gradio's own decoding has no limit and tells nobody what is wrong.

    It takes files that were uploaded to this server alone. Gradio would fetch addresses, too, that a program sends.
    """

    is_template = True  # so that the browser's part is that of its parent

    def preprocess(self, payload: Optional[ImageData]) -> Optional[Upload]:
        if payload is None:
            return None
        if payload.path is None:
            raise gr.Error('The picture must be uploaded as a file.', print_exception=False)
        return Upload(Path(payload.path), payload.orig_name or Path(payload.path).name)

    async def async_move_resource_to_block_cache(self, url_or_file_path: Union[str, Path, None]) -> Optional[str]:
        if isinstance(url_or_file_path, str) and '://' in url_or_file_path:
            raise gr.Error('Addresses are not fetched: upload the picture.', print_exception=False)
        return await super().async_move_resource_to_block_cache(url_or_file_path)
