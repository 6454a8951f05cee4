"""The exchange of results: ``entry`` is what one publishes, ``audit`` whether it can be true, ``site`` shows many."""
