"""The page in a real browser."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterator
from urllib.parse import urlsplit

import cv2
import numpy as np
import pytest

sync_api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
CHROMIUM = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason='Chromium is not installed')
# A busy machine is slow.
PATIENCE = 60_000


@pytest.fixture(scope='module')
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        # WebGL in software, because the machines that tests run on have no screen.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[
            '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'])
        yield browser
        browser.close()


class Visitor:
    """One visitor with the page open."""

    def __init__(self, browser: sync_api.Browser, url: str, width: int = 1280) -> None:
        self.context = browser.new_context(viewport={'width': width, 'height': 900})
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.addresses: list[str] = []
        self.errors: list[str] = []
        self.page.on('request', lambda request: self.addresses.append(request.url))
        self.page.on('pageerror', lambda error: self.errors.append(str(error)))
        self.page.goto(url)
        self.page.wait_for_selector('#s2-run')

    def upload(self, path) -> None:
        self.page.set_input_files('#s2-picture input[type=file]', str(path))
        self.page.wait_for_selector('#s2-picture img')

    def choose(self, task: str) -> None:
        self.page.locator(f'#s2-task input[value={task}]').check()

    def start(self) -> None:
        self.page.click('#s2-run')

    def finished(self, text: str, kind: str = 'done') -> None:
        """Wait until the status has this text."""
        self.page.locator(f'.s2-{kind}', has_text=text).wait_for(timeout=PATIENCE)

    def run(self, task: str, text: str) -> None:
        self.choose(task)
        self.start()
        self.finished(text)

    def download(self, folder) -> list[str]:
        with self.page.expect_download() as waiting:
            self.page.click('#s2-download')
        waiting.value.save_as(folder / waiting.value.suggested_filename)
        with zipfile.ZipFile(folder / waiting.value.suggested_filename) as archive:
            return archive.namelist()


@pytest.fixture
def visit(browser, server):
    """Opens the page; afterwards: nothing came from elsewhere, and no script failed."""
    visitors: list[Visitor] = []

    def open_page(width: int = 1280) -> Visitor:
        visitors.append(Visitor(browser, server, width))
        return visitors[-1]

    yield open_page
    for visitor in visitors:
        hosts = {urlsplit(address).hostname for address in visitor.addresses if address.startswith(('http', 'ws'))}
        assert hosts == {'127.0.0.1'} and not visitor.errors
        visitor.context.close()


def test_upload_run_result_names_and_numbers(visit, make_photo, tmp_path):
    visitor = visit()
    visitor.upload(make_photo('photo.png', 160, 120))
    visitor.run('pose', '1 person')
    assert visitor.page.locator('#s2-slider img').count() == 2
    assert {'pose/picture.json', 'pose/picture.picture.jpg'} <= set(visitor.download(tmp_path))
    visitor.page.get_by_role('tab', name='Names of points').first.click()
    points = visitor.page.locator('svg.s2-points')
    points.scroll_into_view_if_needed()
    # Those of an untrained network lie anywhere, also outside the picture; one is put where it can be pointed at.
    points.evaluate('''svg => svg.insertAdjacentHTML('beforeend',
        '<circle cx="80" cy="60" r="1" data-name="left knee · score 0.87 · person 1"/>')''')
    points.hover()
    sync_api.expect(visitor.page.locator('.s2-point-name')).to_contain_text(re.compile(r'score 0\.\d\d · person 1'))
    visitor.run('seg', 'parts of 29')
    visitor.page.get_by_role('tab', name='Names of parts').first.click()
    visitor.page.wait_for_selector('#s2-parts img')


def test_the_surface_is_drawn(visit, make_photo, tmp_path, monkeypatch):
    from sapiens2.apis.outputs import OutputOptions
    from sapiens2.apis.outputs.geometry_files import write_glb
    from sapiens2.serve import page

    def make_answer(request, networks, settings, folder):
        """A dark wall 2 m away, as no untrained network sees it."""
        y, x = np.mgrid[:60, :80].astype(np.float32)
        points = np.stack([(x - 40) / 40, (y - 30) / 40, np.full_like(x, 2)], axis=-1)
        image = np.full((60, 80, 3), 40, np.uint8)
        write_glb(folder / 'surface.glb', image, {'pointmap': points}, OutputOptions())
        (folder / 'numbers.zip').touch()
        return page.Answer(image, image, 'A wall.', folder / 'numbers.zip', surface=folder / 'surface.glb')

    monkeypatch.setattr(page, 'make_answer', make_answer)
    visitor = visit()
    visitor.upload(make_photo('photo.png', 160, 120))
    visitor.run('pointmap', 'A wall.')
    canvas = visitor.page.locator('#s2-surface canvas')
    canvas.scroll_into_view_if_needed()
    for _ in range(60):
        picture = cv2.imdecode(np.frombuffer(canvas.screenshot(), np.uint8), cv2.IMREAD_COLOR)
        if (picture[60:] < 100).all(-1).mean() > 0.05:
            break
        visitor.page.wait_for_timeout(500)
    else:
        pytest.fail('the 3D view stays empty')


def test_an_invalid_file_and_then_a_good_one(visit, make_photo, tmp_path):
    (tmp_path / 'bad.png').write_bytes(b'<html><script>document.title = "broken in"</script></html>')
    visitor = visit()
    visitor.upload(tmp_path / 'bad.png')
    visitor.start()
    visitor.finished('bad.png: not a picture: it is an HTML page', 'fault')
    assert visitor.page.title() == 'Sapiens2' and not visitor.page.locator('#s2-slider:visible').count()
    visitor.page.get_by_label('Remove').or_(visitor.page.get_by_label('Clear')).first.click()
    visitor.upload(make_photo('photo.png', 160, 120))
    visitor.run('normal', 'surface faces')


def test_boxes_are_clicked_into_the_photograph(visit, make_photo):
    visitor = visit()
    visitor.upload(make_photo('photo.png', 160, 120))
    picture = visitor.page.locator('#s2-picture img')
    box = picture.bounding_box()
    # A small picture has empty space around it.
    for count, shift in enumerate((40, -40), 1):
        picture.click(position={'x': box['width'] / 2 + shift, 'y': box['height'] / 2 + shift})
        sync_api.expect(visitor.page.locator('#s2-boxes textarea')).to_have_value(
            re.compile(rf'^\d+(, \d+){{{2 * count - 1}}}$'), timeout=PATIENCE)
    right, bottom, left, top = map(int, visitor.page.input_value('#s2-boxes textarea').split(','))
    assert 0 < left < right < 160 and 0 < top < bottom < 120
    visitor.start()
    visitor.finished('1 person')


def test_two_visitors_at_once(visit, make_photo, tmp_path):
    first, second = visit(), visit(width=390)
    first.upload(make_photo('a.png', 160, 120))
    second.upload(make_photo('b.png', 100, 140))
    first.choose('normal')
    second.choose('seg')
    first.start()
    second.start()
    first.finished('surface faces')
    second.finished('parts of 29')
    assert 'normal/picture.png' in first.download(tmp_path) and 'seg/picture.png' in second.download(tmp_path)
    overflow = second.page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
    assert overflow <= 0, 'a narrow page needs no scrolling to the side'
