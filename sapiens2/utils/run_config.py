"""The config of a run."""

from __future__ import annotations

from pathlib import Path

from mmengine.config import Config


class RunConfig(Config):
    """MMEngine's ``Config``, which formats its text once: that takes a while, and a run writes it to five places."""

    @classmethod
    def read(cls, path: Path) -> RunConfig:
        """Read a config file; raises what the file raises, which is a program."""
        cfg = Config.fromfile(str(path))
        return cls(cfg._cfg_dict, cfg.text, cfg.filename, cfg.env_variables)

    @property
    def pretty_text(self) -> str:
        """The content as Python, formatted."""
        content = repr(self.to_dict())
        formatted, text = self.__dict__.get('_formatted', (None, ''))
        if formatted != content:
            text = super().pretty_text
            self.__dict__['_formatted'] = content, text  # an assignment would make an entry of the config
        return text
