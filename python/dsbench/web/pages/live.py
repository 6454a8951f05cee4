"""The runs that the browser began: one as it goes on, with what can stop it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psutil
from nicegui import ui

from dsbench.format import say_time
from dsbench.library import RunError
from dsbench.measure.moments import AFTER, AROUND, Moment, format_time
from dsbench.web import fields, folders
from dsbench.web.course import Course, FinishedCycle, cpus_of, waits_of
from dsbench.web.house import House
from dsbench.web.parts import button, copying, go, link, number, problem, shares, table, tag
from dsbench.web.state import WebState

_EVERY_S: Final = 1.0
_FIGURES: Final = ("Rate", "p50", "p99", "Failed", "CPUs busy", "Cycle")
_WORDS: Final = {"complete": "complete", "cut-short": "stopped", "failed": "failed"}


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page of one run, of that which goes on, or of the last."""
    states = house.runs.states()
    key = asked.get("run", "") or next((one.key for one in states if one.goes_on), states[0].key if states else "")
    state = house.runs.state(key)
    if state is None:
        tag("p", "No run was begun here yet.")
        link("Begin one", "/")
        return
    if state.check:
        link(f"The check of {state.target}", _address(state), "button primary")
    else:
        _Watching(house, state).place()
    others = [one for one in states if one.key != key]
    if others:
        tag("h2", "Earlier runs")
        table("Earlier runs", ["begun", "what", "status"], [
            [lambda one=one: link(_when(one), _address(one)), _name(one), _status(one)] for one in others
        ])  # fmt: skip


def _address(state: WebState) -> str:
    return f"/{'check' if state.check else 'live'}?run={state.key}"


def _name(state: WebState) -> str:
    if state.check:
        return f"check of {state.target}"
    trial = f"trial {state.trial} of {state.trials}" if state.trials else ""
    if state.pair:
        trial = f"run {state.trial}" + f" of {state.trials} or more" * state.goes_on if state.trials else ""
    study = f"study {state.study}" if state.study else f"comparison {state.pair}" if state.pair else ""
    return ", ".join(part for part in (study, trial, state.label, state.workload, state.target) if part)


def _when(state: WebState) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(state.began))


def _status(state: WebState) -> str:
    if state.goes_on:
        return "going on"
    return _WORDS.get(state.status, "ended without a word") if state.ended else "ended without a word"


class _Watching:
    """One run. Only what has changed is sent to the browser."""

    def __init__(self, house: House, state: WebState) -> None:
        self._house, self._key = house, state.key
        self._shown: WebState | None = None
        self._archive, self._course = "", Course()

    def place(self) -> None:
        """Makes the elements, and looks at the run once a second while the page is open."""
        self._title = tag("p", "", "sub")
        with tag("div", cls="go"):
            self._status = tag("p", "", "status", role="status")
            self._stop = button("Stop", self._ask, "danger")
        with tag("div", cls="progress", aria_hidden="true") as self._course_of_all:
            self._progress = tag("div")
        self._over = tag("div")
        with tag("div") as self._measured:
            with tag("div", cls="tiles"):
                self._figures = {name: _figure(name) for name in _FIGURES}
            self._pictures = {}
            with tag("div", cls="charts"):
                for name in ("Transactions per second", "Latency [ms]"):
                    with tag("div"):
                        tag("h2", name)
                        self._pictures[name] = ui.html("", sanitize=False).classes("live")
            self._machine = tag("div", cls="charts")
            tag("h2", "Cycles so far")
            self._cycles = tag("div")
        with tag("details", open=True) as self._logged:
            tag("summary", "Log")
            self._log = tag("pre", "", "log", tabindex=0, role="log", aria_label="Log of the run")
        self._look()
        # As it was shown: a run that has ended since is looked at once more.
        if self._shown is not None and self._shown.goes_on:
            self._timer = ui.timer(_EVERY_S, self._look)

    def _ask(self) -> None:
        self._house.runs.stop(self._key)
        self._shown = None
        self._look()

    def _look(self) -> None:
        state = self._house.runs.state(self._key)
        if state is None or (state is self._shown and state.goes_on):
            return
        self._shown, stopping = state, self._house.runs.stopping(self._key)
        self._title.text = f"{_name(state)}, begun {_when(state)}"
        self._stop.set_visibility(state.goes_on)
        self._stop.props["disabled"] = stopping
        if (lines := "\n".join(reversed(state.log))) != self._log.text:
            self._log.text = lines
        if state.archive != self._archive:  # A study has one archive after another.
            self._archive, self._course = state.archive, Course()
        if state.archive and self._course.look(Path(state.archive), whole=not state.goes_on):
            self._cycles.clear()
            with self._cycles:
                table("Cycles so far", self._course.heads, self._course.rows, numbers=True)
                if self._course.nodes:
                    tag("h2", "Nodes in the last cycle")
                    table("Nodes", ["node", "tps", "failed"], self._course.nodes, numbers=True)
            self._show_machine()
        self._tell(state, stopping)
        # What a comparison found is no figure of its last run.
        self._measured.set_visibility(state.goes_on or bool(self._course.cycles and not state.pair))
        self._course_of_all.set_visibility(state.goes_on)
        self._logged.set_visibility(bool(state.log))
        if not state.goes_on:
            self._end(state)

    def _show_machine(self) -> None:
        """Who took the CPUs of the last cycle, and what threads waited for."""
        last = self._course.cycles[-1] if self._course.cycles else None
        self._machine.clear()
        if last is None or not last.machine:
            return
        with self._machine:
            with tag("div"):
                tag("h2", f"CPUs in cycle {last.number} of scale {last.scale:,}")
                shares(cpus_of(last))
            with tag("div"):
                tag("h2", "Waiting in the same cycle")
                with tag("div", cls="waits"):
                    for name, share in waits_of(last):
                        tag("span", f"for {name}")
                        with tag("div"):
                            tag("div").style(f"width: {100 * min(share, 1):.1f}%; height: 100%")
                        tag("b", f"{100 * share:.0f}%")
                rate = f"dsbench and server read and wrote {number(last.machine['bytes per second'] / 1e6)} MB/s."
                tag("p", f"Share of the time in which some thread of this machine waited. {rate}", "note")

    def _tell(self, state: WebState, stopping: bool) -> None:
        moment = state.moment
        in_cycle = moment.phase == "cycle" and moment.elapsed_s > 0
        doing = AROUND.get(moment.phase) or " ".join((moment.phase or state.status).replace("_", " ").split())
        where = f"scale {moment.scale} ({moment.scale_number} of {moment.scales}): {doing}" if moment.scale else doing
        share = f", {100 * moment.done / moment.total:.0f}%" if moment.total else ""
        share += f" · {'at least' if state.pair else 'about'} {format_time(state.left_s)} left" if state.left_s else ""
        self._status.text = ("stopping: " if stopping and state.goes_on else "") + (
            where + share if state.goes_on else _status(state)
        )
        took_s = time.time() - state.began
        over = not state.goes_on or moment.phase in AFTER
        done = float(over) if over or not state.left_s else took_s / (took_s + state.left_s)
        self._progress.style(f"width: {100 * done:.0f}%")
        clients = f" · {moment.clients} clients" if moment.clients else ""
        last = self._course.cycles[-1] if self._course.cycles else None
        self._tell_rate(moment, in_cycle, last)
        own, busy = moment.cpus if in_cycle else (0.0, 0.0)
        if busy:
            self._set("CPUs busy", f"{busy:.1f} of {psutil.cpu_count()}", f"{own:.2f} by dsbench")
        elif last is not None and last.machine:
            taken = sum(value for name, value in cpus_of(last) if name != "idle")
            self._set("CPUs busy", f"{taken:.1f} of {psutil.cpu_count()}", "in the last cycle")
        if in_cycle or last is None:
            self._set("Failed", f"{moment.failed:,}", "attempts in this cycle")
        else:
            self._set("Failed", f"{last.failed:,}", "attempts in the last cycle")
        if state.goes_on:
            done = len(self._course.cycles)
            cycle = f"{moment.cycle} of {moment.cycles}" if moment.cycle else f"{done:,} done" if done else "–"
            elapsed = f"{max(moment.elapsed_s, 0):.0f} s" if in_cycle else ""
            self._set("Cycle", cycle, f"{elapsed}{clients}".strip(" ·"))
        else:
            took = f"it took {format_time(max(state.ended - state.began, 0))}" if state.ended else "were finished"
            self._set("Cycle", f"{len(self._course.cycles):,}", took)
        now_s, times = (moment.seconds, moment.times) if in_cycle else ((), ())
        rate, latency = self._pictures.values()
        rate.content, latency.content = self._course.rates(now_s), self._course.times(times, len(now_s))

    def _tell_rate(self, moment: Moment, in_cycle: bool, last: FinishedCycle | None) -> None:
        """Of this cycle, or of the last one until it has figures."""
        where = f"in cycle {last.number} of scale {last.scale:,}" if last is not None else ""
        if in_cycle:
            now = moment.seconds[-1] if moment.seconds else moment.rate_tps
            self._set("Rate", f"{number(now)} tps", f"{number(moment.rate_tps)} tps in this cycle")
        elif last is not None:
            self._set("Rate", f"{number(last.rate_tps)} tps", where)
        if in_cycle:
            for name, seconds in zip(("p50", "p99"), moment.last_times, strict=False):
                self._set(name, say_time(1e9 * seconds), "of the last second")
        elif last is not None:
            for name, value in (("p50", last.p50_ms), ("p99", last.p99_ms)):
                self._set(name, say_time(1e6 * value) if value else "–", where)

    def _set(self, name: str, value: str, note: str) -> None:
        for element, text in zip(self._figures[name], (value, note), strict=True):
            if element.text != text:
                element.text = text

    def _end(self, state: WebState) -> None:
        if (timer := getattr(self, "_timer", None)) is not None:
            timer.deactivate()
        self._over.clear()
        with self._over:
            if state.problem:
                problem(state.problem, state.remedy)
            if state.problem or (state.pair and state.status != "complete"):
                self._retry(state)
            elif not state.ended:
                problem("The process of the run has ended without a word: it was killed, or the machine was.",
                        "see what it left among the archives; dsbench run --resume goes on with it")  # fmt: skip
            if state.pair:
                self._show_pair(state)
            elif state.study:
                with tag("div", cls="go"):
                    link("Open the study", f"/study?name={quote(state.study)}&effects=yes", "button primary")
            elif state.archive and (name := Path(state.archive).name) in self._house.shelf.names():
                self._show_run(state, name)

    def _show_run(self, state: WebState, name: str) -> None:
        book = self._house.shelf.book(name)
        if book.answer:
            tag("h2", book.answer)
        for danger in book.dangers:
            tag("p", danger, "foreign", role="note")
        with tag("div", cls="go"):
            primary = " primary" * (not state.problem)
            link("Open the report", f"/archive?name={quote(name)}", f"button{primary}")
            if not (state.problem and self._house.runs.targets(self._key)):
                known = self._house.runs.form(self._key) is not None
                link("Run it again", f"/?again={quote(self._key)}" if known else f"/?repeat={quote(name)}", "button")

    def _show_pair(self, state: WebState) -> None:
        answer, *dangers = state.found or [""]
        if answer:
            tag("h2", answer)
        for danger in dangers:
            tag("p", danger, "foreign", role="note")
        if state.pair in folders.pair_names(self._house.archives):
            primary = " primary" * (state.status == "complete")
            with tag("div", cls="go"):
                link("Open the comparison", f"/pair?name={quote(state.pair)}", f"button{primary}")
        if not state.problem and state.remedy and not self._house.runs.targets(self._key):
            tag("p", "This goes on with it:")
            copying("resume", state.remedy)

    def _retry(self, state: WebState) -> None:
        """Asks for the passwords that may be missing, and begins the same once more."""
        targets = self._house.runs.targets(self._key)
        if not targets:
            return
        passwords = {str(number): "" for number, _ in enumerate(targets)}

        def again() -> None:
            try:
                key = self._house.runs.again(self._key, list(passwords.values()))
            except RunError as error:
                wrong.clear()
                with wrong:
                    problem(str(error), error.remedy)
            else:
                go(f"/live?run={key}")

        with tag("form", cls="retry", autocomplete="off", aria_label="Another try").on(
            "submit", again, js_handler="(event) => { event.preventDefault(); emit(); }"
        ):
            for number, target in enumerate(targets):
                if target.private is None and target.user and not self._course.cycles:
                    side = f" of {'AB'[number]}" if len(targets) > 1 else ""
                    fields.password_field(str(number), passwords, lambda: None, f"Password{side} for {target.user}")
            wrong = tag("div", role="status")
            with tag("div", cls="go"):
                tag("button", "Continue" if state.pair and not state.problem else "Try again", "primary", type="submit")
                if self._house.runs.form(self._key) is not None:
                    link("Change the settings", f"/?again={quote(self._key)}", "button")


def _figure(name: str) -> tuple[Any, Any]:
    with tag("p"):
        tag("span", name, "name")
        return tag("strong", "–"), tag("span", "")
