"""The exchange of results.

``entry`` is what a commons holds. ``about``, ``hiding``, ``figures`` and ``packing`` make one of an archive.
``verifying`` and ``audit`` say whether it can be true. ``site`` shows many, ``repository`` begins one.
"""
