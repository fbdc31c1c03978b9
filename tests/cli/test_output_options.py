"""Options of what is written."""

from __future__ import annotations

import argparse

import pytest

from sapiens2.apis.outputs import Camera, OutputOptions
from sapiens2.cli.output_options import add_output_options, output_options


def parse(*arguments: str) -> OutputOptions:
    parser = argparse.ArgumentParser()
    add_output_options(parser.add_argument_group('results'))
    return output_options(parser.parse_args(arguments))


def test_defaults_are_those_of_python():
    assert parse() == OutputOptions()


def test_more_formats_and_others():
    options = parse('--also', 'glb,exr,coco', '--keypoints', 'coco17, openpose25', '--exact-keypoints', '--no-pictures')
    assert options.pointmap == ('png', 'npz', 'glb', 'exr') and options.albedo == ('png', 'npz', 'exr')
    assert options.pose == ('json', 'coco') and options.seg == ('png', 'npz')
    assert options.keypoints == ('coco17', 'openpose25') and not options.near_keypoints and not options.picture
    only = parse('--only', 'png,openpose')
    assert only.pose == ('openpose',) and only.pointmap == only.seg == ('png',)
    assert parse('--only', 'coco').pose == ('json', 'coco') and parse('--only', 'coco').seg == ('png', 'npz')


def test_a_camera():
    assert parse('--camera', '9,9,4,4').camera == Camera(9, 9, 4, 4, source='9,9,4,4')
    with pytest.raises(ValueError, match='give fx,fy,cx,cy'):
        parse('--camera', '9,9')


@pytest.mark.parametrize('arguments', [('--also', 'gbl'), ('--keypoints', 'coco'), ('--also', ',')])
def test_unknown_names_end_the_command(arguments, capsys):
    with pytest.raises(SystemExit):
        parse(*arguments)
    assert 'known' in capsys.readouterr().err.lower()
