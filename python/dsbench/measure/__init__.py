"""One run: a workload against a target over a ladder of scales, which leaves an archive.

Read three modules, from top to bottom:

- ``run``: from the specification to the sealed archive; a run that was cut short goes on here, too;
- ``scale``: the stages of one scale on one database, and what its check is held against;
- ``cycle``: one cycle, cleaned, connected, measured with the monitors beside it, written; ``setting`` is what cycles of
  a scale share, ``cycle_log`` what the log says of one.

What they use:

- ``stopping``: which cycles are still needed, how long they are, which scales come in between; ``plan``: the cycles
  that a workload's stages come to; ``interrupts``: the user wants the run to end;
- ``opening``: the target with its private server around it, and errors as users see them;
- ``keeping``: the database of a run, made anew or kept, its check and its end; ``place``: its mark, which nothing of
  others carries; ``locks``: how other runs see that it is in use;
- ``surroundings``: what a run notes of server, machine and storage; ``calibration``: the client's own ceiling;
- ``journal``: ``run.json`` and the log; ``rows``: results as rows of the archive's tables; ``moments``: what those hear
  who watch a run, and its words; ``happening``: what is done to the server in a cycle;
- ``ahead``: a run before it is made; ``preflight``: what its server allows;
- ``loaders``: who makes the load; ``nodes``: other machines that do; ``beside``: what the core does in a process of its
  own;
- ``monitors``: what a transaction costs; ``stack``: the description of the machine and the server.
"""
