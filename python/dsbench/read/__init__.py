"""What one archive says: its rows, subjects and figures, and the media that show them.

``evaluation.py`` and ``subjects/`` compute, with ``dsbench.stats``. Blocks (``blocks.py``) become text, Markdown, CSV
or HTML in the module of that name; ``html.py`` frames every page. ``draw/`` draws.
"""
