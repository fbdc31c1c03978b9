"""The page: fields, buttons, and what happens when they are used."""

from __future__ import annotations

import html
import json
import logging
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

import gradio as gr

from sapiens2.serve.answer import BOXES, DETECT, WHOLE, Answer, Request, make_answer
from sapiens2.serve.hover import SCRIPT
from sapiens2.serve.networks import Networks
from sapiens2.serve.refusals import Refused, TookTooLong
from sapiens2.serve.settings import ServeSettings
from sapiens2.serve.upload_field import Upload, upload_field
from sapiens2.serve.uploads import add_corner, read_upload

LOGGER = logging.getLogger('sapiens2.serve')
TITLE = 'Sapiens2'
_TASK_NAMES = {'pose': 'Key points', 'seg': 'Body parts', 'normal': 'Surface normals', 'pointmap': '3D points',
               'albedo': 'Albedo'}
_BUSY, _DONE, _FAULT = 'busy', 'done', 'fault'
_HIDDEN = ['s2-hidden']
Updates = dict[Any, Any]


class Page:
    """The page of a server.

    Args:
        settings: what it offers, and its limits.
        networks: those of ``settings``.
        folder: for files of answers; Gradio hands out what lies in it.
    """

    def __init__(self, settings: ServeSettings, networks: Networks, folder: Path) -> None:
        self._settings, self._networks, self._folder = settings, networks, folder
        with gr.Blocks(title=TITLE, analytics_enabled=False) as self.blocks:
            self._head()
            with gr.Row():
                with gr.Column(scale=2, min_width=320):
                    self._add_inputs()
                with gr.Column(scale=3, min_width=320):
                    self._add_outputs()
            self._foot()
        self.blocks.queue(max_size=settings.queue, default_concurrency_limit=1)

    def _head(self) -> None:
        gr.HTML(f'<h1>{TITLE}</h1><p>Upload a photograph of people, choose what to find in it, and press Run.</p>',
                elem_id='s2-head')

    def _foot(self) -> None:
        settings = self._settings
        gr.Markdown(
            f'At most {settings.max_bytes / 1e6:g} MB and {settings.max_pixels / 1e6:g} megapixels, '
            f'{settings.seconds:g} s of work. Pictures and results are deleted after '
            f'{_minutes(settings.keep_seconds)}.', elem_id='s2-fine')

    def _add_inputs(self) -> None:
        settings, networks = self._settings, self._networks
        task = networks.tasks[0]
        self.picture = upload_field(label='1. Photograph', sources=['upload', 'webcam', 'clipboard'], height=340,
                                    elem_id='s2-picture', buttons=['fullscreen'])
        self.task = gr.Radio([(_TASK_NAMES[name], name) for name in networks.tasks], value=task,
                             label='2. What to find', elem_id='s2-task')
        models = networks.models(task)
        self.model = gr.Dropdown(models, value=models[0], label='Model', filterable=False, elem_id='s2-model',
                                 interactive=True)
        with gr.Group(visible=task == 'pose') as self.people_group:
            choices = [('The whole picture is one person', WHOLE), ('I give boxes', BOXES)]
            choices = [('Find them', DETECT), *choices] if settings.detector is not None else choices
            self.people = gr.Radio(choices, value=choices[0][1], label='Where the people are', elem_id='s2-people')
            self.boxes = gr.Textbox(
                label='Boxes: x1, y1, x2, y2 in pixels, one person a line', lines=2, visible=False, elem_id='s2-boxes',
                info='Or click two opposite corners of each person in the photograph.', max_length=4000)
        self.run = gr.Button('Run', variant='primary', size='lg', elem_id='s2-run')
        self.task.change(self._task_changed, self.task, [self.model, self.people_group], queue=False,
                         api_visibility='private')
        self.people.change(lambda people: gr.update(visible=people == BOXES), self.people, self.boxes, queue=False,
                           api_visibility='private')
        self.picture.select(self._corner_chosen, self.boxes, [self.boxes, self.people], queue=False,
                            show_progress='hidden', api_visibility='private')
        # In the browser, so that it cannot come after the first click into the new picture.
        self.picture.change(None, None, self.boxes, js="() => ''", api_visibility='private')

    def _add_outputs(self) -> None:
        self.status = gr.HTML(_status('The result appears here.'), elem_id='s2-status')
        with gr.Group(visible=False, elem_id='s2-results') as self.results, gr.Tabs() as self.tabs:
            with gr.Tab('Compare', id='compare'):
                self.slider = gr.ImageSlider(label='Photograph and result', show_label=False, interactive=False,
                                             format='jpeg', elem_id='s2-slider', max_height=640)
            with gr.Tab('Names of points', id='points', visible=False) as self.points_tab:
                self.points = gr.HTML(js_on_load=SCRIPT, elem_id='s2-points', padding=True)
            with gr.Tab('Names of parts', id='parts', visible=False) as self.parts_tab:
                self.parts = gr.AnnotatedImage(show_label=False, elem_id='s2-parts')
        # Hidden by its style, because Gradio's viewer draws nothing that it is given while it is not part of the page.
        with gr.Column(elem_classes=_HIDDEN, elem_id='s2-surface-column') as self.surface_column:
            self.surface = gr.Model3D(label='3D view: drag to turn', height=480, elem_id='s2-surface',
                                      interactive=False, clear_color=(1, 1, 1, 1))
        self.download = gr.DownloadButton('Download the numbers (zip)', visible=False, elem_id='s2-download')
        busy = _status('Working… The first run of a task loads its network, too.', _BUSY)
        self.run.click(None, None, self.status, js=f'() => {json.dumps(busy)}', api_visibility='private')
        self.run.click(
            self._respond, [self.picture, self.task, self.model, self.people, self.boxes],
            [self.status, self.results, self.tabs, self.slider, self.points_tab, self.points, self.parts_tab,
             self.parts, self.surface_column, self.surface, self.download],
            api_name='run', concurrency_limit=1, concurrency_id='network', scroll_to_output=True,
            show_progress='minimal', show_progress_on=[self.status])

    def _task_changed(self, task: str) -> tuple[Any, Any]:
        models = self._networks.models(task)
        return gr.update(choices=models, value=models[0]), gr.update(visible=task == 'pose')

    @staticmethod
    def _corner_chosen(boxes: str, event: gr.SelectData) -> tuple[Any, str]:
        """A click into the photograph: the first corner of a box, or the second."""
        return gr.update(value=add_corner(boxes, *event.index), visible=True), BOXES

    def _respond(self, upload: Optional[Upload], task: str, model: str, people: str, boxes: str) -> Updates:
        """The answer, or why there is none.

        No generator that says first that it works: Gradio's 3D viewer draws nothing when a value comes twice.
        """
        start, folder = time.perf_counter(), None
        try:
            if upload is None:
                raise Refused('Upload a photograph first.')
            network = self._networks.spec(task, model)
            image = read_upload(upload.path, upload.name, self._settings.max_bytes, self._settings.max_pixels)
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            answer = make_answer(Request(image, network, people, boxes), self._networks, self._settings, folder)
        except (Refused, TookTooLong) as error:
            LOGGER.info('%s %s: refused: %s', task, model, error)
            text = str(error)
        except Exception:
            # The visitor cannot mend it, and the reason may hold paths; who runs the server sees it.
            LOGGER.exception('%s %s: failed', task, model)
            text = 'This did not work, because of a fault of the server. Its log says more.'
        else:
            seconds = time.perf_counter() - start
            LOGGER.info('%s %s: %d x %d pixels, %.1f s', task, model, image.shape[1], image.shape[0], seconds)
            return self._shown(answer, seconds)
        if folder is not None:
            shutil.rmtree(folder)
        return self._refusal(text)

    def _refusal(self, text: str) -> Updates:
        return {self.status: _status(text, _FAULT), self.results: gr.update(visible=False),
                self.surface_column: gr.update(elem_classes=_HIDDEN),
                self.download: gr.update(visible=False, value=None)}

    def _shown(self, answer: Answer, seconds: float) -> Updates:
        parts = None if answer.parts is None else gr.update(
            value=(answer.before, answer.parts[0]), color_map=answer.parts[1])
        return {
            self.status: _status(f'{answer.summary} ({seconds:.1f} s)', _DONE),
            self.results: gr.update(visible=True),
            self.tabs: gr.update(selected='compare'),
            self.slider: (answer.before, answer.after),
            self.points_tab: gr.update(visible=answer.points is not None),
            self.points: answer.points or '',
            self.parts_tab: gr.update(visible=answer.parts is not None),
            self.parts: parts,
            self.surface_column: gr.update(elem_classes=[] if answer.surface else _HIDDEN),
            self.surface: None if answer.surface is None else str(answer.surface),
            self.download: gr.update(visible=True, value=str(answer.archive)),
        }


def _status(text: str, kind: str = 'idle') -> str:
    role = 'alert' if kind == _FAULT else 'status'
    return f'<div class="s2-status s2-{kind}" role="{role}">{html.escape(text)}</div>'


def _minutes(seconds: int) -> str:
    return f'{seconds} s' if seconds < 120 else f'{round(seconds / 60)} minutes'
