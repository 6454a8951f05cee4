"""What archives say: their rows, subjects and figures, and the media that show them.

One archive: ``evaluation.py``, ``subjects/``. Several: ``several/``, ``compare.py`` first. Blocks (``blocks.py``)
become text, Markdown, CSV or HTML in the module of that name; ``html.py`` frames every page. ``stats/`` computes,
``draw/`` draws.
"""
