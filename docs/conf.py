"""The documentation as a site: ``sphinx-build docs build/site``, with the extra ``[docs]``.

Pages are Markdown (MyST). The tutorials are the scripts in ``tutorials/``, run by sphinx-gallery. The
reference and the list of messages are written from the source when the site is built (``docs/extensions``).
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import warnings
from pathlib import Path

from sphinx.util import logging

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "extensions")]

from tvmlite.core import VERSION  # noqa: E402

project = "tvmlite"
author = "the tvmlite contributors"
release = version = VERSION
copyright = "the tvmlite contributors"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "reference_pages",
    "repository_links",
]

source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["extensions", "tutorials/*.py", "tutorials/*.ipynb"]
suppress_warnings = ["config.cache"]
templates_path = ["templates"]

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
default_role = "code"


def _arguments(gallery_conf: dict[str, object], script: dict[str, object]) -> list[str]:
    """A tutorial that would wait for a visitor does not, one runs whole, others as a reader runs them."""
    if Path(str(script["src_file"])).name == "18_web_page.py":
        return ["--no-serve", "--output", str(Path(tempfile.mkdtemp()) / "page")]
    if Path(str(script["src_file"])).name == "17_decoder.py":
        return ["--cache", "int8"]  # its last part, which is left out otherwise
    return []


PACKAGES = {"18_web_page": ("ziglang", "rapidocr_onnxruntime")}
"""What a tutorial needs beside tvmlite, of the extra ``[docs]``; not all of it is there for every Python."""


def _tutorials_to_run() -> str:
    """The pattern of the tutorials to run: those whose packages are there; of others the build says so."""
    pattern = r"/{}\d\d_\w+\.py$"
    left_out = []
    for name, packages in PACKAGES.items():
        missing = [one for one in packages if importlib.util.find_spec(one) is None]
        if missing:
            left_out.append(name)
            logging.getLogger(__name__).info("%s is shown and not run: no %s", name, ", no ".join(missing))
    return pattern.format(f"(?!{'|'.join(left_out)})" if left_out else "")


sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "tutorials"),
    "gallery_dirs": "tutorials",
    "filename_pattern": _tutorials_to_run(),
    "ignore_pattern": r"(^|/)(?!\d\d_|README)[^/]*$",
    "capture_repr": (),
    "reset_modules": (),  # they would undo what pictures.py, which is imported once, sets for all
    "nested_sections": False,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "abort_on_example_error": True,
    "reset_argv": _arguments,
}

warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "furo"
html_title = f"tvmlite {VERSION}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
