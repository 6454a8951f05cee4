"""``dsbench web``: runs, archives and studies in a browser on this machine.

Read ``server`` for what is listened to, ``door`` for who is let in, ``pages`` for what there is to see, and ``making``
for the process that makes a run: the web server never does, because it would take turns with the clients.
"""
