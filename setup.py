"""Build of the package: requirements come from requirements/, the version from sapiens2/version.py."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
EXTRAS = (
    'lite', 'demo', 'transformers', 'timm', 'lora', '8bit', 'exr', 'render', 'synth', 'ray', 'parquet', 'remote',
    'curation', 'hub', 'video', 'export', 'serve', 'tests')


def requirements(name: str) -> list[str]:
    """Requirement lines of requirements/``name``.txt; included files are followed."""
    lines: list[str] = []
    for line in (ROOT / 'requirements' / f'{name}.txt').read_text(encoding='utf-8').splitlines():
        line = line.strip()
        if line.startswith('-r '):
            lines += requirements(line[3:].removesuffix('.txt'))
        elif line and not line.startswith('#'):
            lines.append(line)
    return lines


def version() -> str:
    """The version that the package states."""
    text = (ROOT / 'sapiens2' / 'version.py').read_text(encoding='utf-8')
    return re.search(r"__version__ = '(.+)'", text).group(1)


# The configs travel inside the package, so that `sapiens2 infer` finds them after `pip install`.
CONFIG_FOLDERS = ['sapiens2.configs'] + [
    'sapiens2.' + '.'.join(path.relative_to(ROOT).parts) for path in sorted((ROOT / 'configs').rglob('*'))
    if path.is_dir() and path.name != '__pycache__'
]

setup(
    name='sapiens2',
    version=version(),
    description='High-resolution vision transformers for people: pose, parts, normals, pointmaps, albedo',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    python_requires='>=3.10,<3.14',
    packages=find_packages(include=['sapiens2', 'sapiens2.*']) + CONFIG_FOLDERS,
    package_dir={'sapiens2': 'sapiens2', 'sapiens2.configs': 'configs'},
    package_data={
        '': ['*.json', '*.yml'], 'sapiens2.weights': ['*.safetensors', '*.md'],
        **{folder: ['*.py', '*.yml', '*.md'] for folder in CONFIG_FOLDERS}
    },
    install_requires=requirements('runtime'),
    extras_require={name: requirements(name) for name in EXTRAS},
    entry_points={'console_scripts': ['sapiens2 = sapiens2.cli.main:main']},
    classifiers=[
        'License :: OSI Approved :: Apache Software License', 'Programming Language :: Python :: 3',
        'Topic :: Scientific/Engineering :: Image Recognition'
    ],
)
