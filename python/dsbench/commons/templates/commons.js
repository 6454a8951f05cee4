"use strict";
// Ranks, filters and compares the entries that stand in the page. Loads nothing, keeps nothing.
(() => {
  const entries = JSON.parse(document.getElementById("entries").textContent);
  const site = JSON.parse(document.getElementById("site").textContent);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const view = document.getElementById("view");
  const INKS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
  const ROWS = 100;
  const make = (name, properties = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in made && key !== "list") made[key] = value; else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== ""));
    return made;
  };
  const number = (value, digits = 4) => {
    if (value === null || value === undefined) return "–";
    return new Intl.NumberFormat("en", {maximumSignificantDigits: digits, maximumFractionDigits: 20}).format(Number(value.toPrecision(digits)));
  };
  const time = (ns) => ns === null || ns === undefined ? "–" : ns >= 1e9 ? `${number(ns / 1e9, 3)} s` : ns >= 1e5 ? `${number(ns / 1e6, 3)} ms` : `${number(ns / 1e3, 3)} µs`;
  const machine = ({system, about}) => [about.machine, `${system.cpus ?? "?"} × ${system.cpu || "unknown CPU"}`, system.ram].filter(Boolean).join(", ");

  // --- What an entry is ranked by.
  const COUNTED = {tps: 3600, NOPM: 60};  // Units that count transactions: how many times their unit of time an hour has.
  const hourly = ({figures}) => COUNTED[figures.rate.unit.split(",")[0]];  // "NOPM, unpaced" counts as NOPM does.
  const staged = ({figures}) => figures.rate?.unit !== "QphH-like" && Object.keys(figures.stages ?? {}).length > 0;
  const scaled = ({value, low, high}, times) => ({value: value * times, low: low === null ? null : low * times, high: high === null ? null : high * times});
  const MEASURES = {
    rate: {name: "Highest rate", of: (entry) => staged(entry) ? null : entry.figures.rate, unit: (entry) => entry.figures.rate?.unit ?? ""},
    dsi: {name: "Index DSI", of: ({figures}) => figures.dsi, unit: () => "DSI"},
  };
  // Money of one currency is not compared with that of another.
  for (const currency of new Set(entries.map(({about}) => about.price?.currency).filter(Boolean))) {
    MEASURES[`price ${currency}`] = {
      name: `Transactions per ${currency}`, unit: () => `per ${currency}`,
      of: (entry) => !entry.figures.rate || staged(entry) || entry.about.price?.currency !== currency || !hourly(entry) ? null
        : scaled(entry.figures.rate, hourly(entry) / entry.about.price.per_hour),
    };
  }
  // The interval is that of the rate: power is taken for known.
  MEASURES.energy = {
    name: "Joules per transaction", unit: () => "J", less: true,
    of: ({figures}) => {
      if (!figures.energy) return null;
      const {value, low, high} = figures.rate, {joules} = figures.energy;
      return {value: joules, low: high === null ? null : joules * value / high, high: low === null ? null : joules * value / low};
    },
  };
  for (const stage of new Set(entries.filter(staged).flatMap(({figures}) => Object.keys(figures.stages ?? {})))) {
    MEASURES[`stage ${stage}`] = {
      name: `Stage ${stage}, per second`, unit: () => "/s",
      of: (entry) => staged(entry) && entry.figures.stages[stage] ? {value: entry.figures.stages[stage], low: null, high: null} : null,
    };
  }
  // A place is one more than there are entries whose whole interval is better: those of one place overlap each other. One
  // without an interval has none.
  // A machine that did other work beside it has measured that, too: no place, and below all others.
  const disturbed = ({verdict}) => verdict.soundness === "disturbed";
  const rank = (rows, less = false) => {
    const known = rows.filter(({entry}) => !disturbed(entry)).map(({figure}) => figure).filter(({low, high}) => low !== null && high !== null);
    const behind = (one, other) => less ? one.low > other.high : one.high < other.low;
    for (const row of rows) {
      const told = row.figure.low !== null && row.figure.high !== null && !disturbed(row.entry);
      row.place = told ? String(1 + known.filter((other) => behind(row.figure, other)).length) : "";
    }
    const shared = new Map();
    for (const row of rows) shared.set(row.place, (shared.get(row.place) ?? 0) + 1);
    for (const row of rows) row.tied = row.place !== "" && shared.get(row.place) > 1;
    return rows;
  };

  const groups = new Map();
  for (const entry of entries) groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry]);
  const ordered = [...groups.keys()].sort((one, other) => groups.get(other).length - groups.get(one).length || one.localeCompare(other));
  const FILTERS = ["words", "product", "version", "machine", "cpu", "storage", "system"];
  const state = {group: ordered[0] ?? "", workload: "", durable: false, by: "rate", ...Object.fromEntries(FILTERS.map((key) => [key, ""])), rows: ROWS, chosen: new Set()};

  const choice = (label, key, values, className = "") => {
    if (values.length < 3 && values[0]?.[0] === "" && !state[key]) return "";  // Nothing to choose.
    const select = make("select", {onchange: () => { state[key] = select.value; state.rows = ROWS; if (key === "group" || key === "workload") clear(); if (key === "product") { state.version = ""; show(); } fill(); }});
    for (const [value, words] of values) select.append(make("option", {value, selected: value === state[key]}, words));
    return make("label", {className}, label, select);
  };
  const clear = () => { for (const key of FILTERS) state[key] = ""; state.rows = ROWS; show(); };
  const values = (rows, pick) => [["", "all"], ...[...new Set(rows.map(pick).filter(Boolean))].sort().map((one) => [one, one])];
  const product = (entry) => entry.system.product.split(" ")[0];

  let fill = () => {};
  const ranking = () => {
    if (!entries.length) return [make("h1", {}, "No entry yet"), make("p", {}, "dsbench commons publish ARCHIVE --to FOLDER adds one.")];
    const offered = ordered.filter((group) => {
      const {conditions} = groups.get(group)[0];
      return (!state.workload || conditions.label === state.workload) && (!state.durable || conditions.durable);
    });
    if (!offered.includes(state.group)) state.group = offered[0] ?? ordered[0];
    const here = offered.length ? groups.get(state.group) : [];
    const durable = make("input", {type: "checkbox", checked: state.durable, onchange: () => { state.durable = durable.checked; clear(); }});
    const words = make("input", {type: "search", value: state.words, oninput: () => { state.words = words.value.toLowerCase(); state.rows = ROWS; fill(); }});
    const place = make("div", {className: "ranking"});
    const summary = make("summary", {});
    fill = () => {
      const set = FILTERS.filter((key) => state[key]).length;
      summary.textContent = set ? `Filters (${set} set)` : "Filters";
      place.replaceChildren(...table(here));
    };
    fill();
    const count = new Set(entries.map((entry) => entry.group)).size;
    // On a telephone they would fill the first screen.
    const more = make("details", {open: state.more ?? innerWidth > 640, ontoggle: () => { state.more = more.open; }}, summary, make("div", {className: "filters"},
      make("label", {}, "Search", words),
      choice("Product", "product", values(here, product)), choice("Version", "version", values(here.filter((entry) => !state.product || product(entry) === state.product), ({system}) => system.product)),
      choice("Machine", "machine", values(here, ({about}) => about.machine)), choice("CPU", "cpu", values(here, ({system}) => system.cpu)),
      choice("Storage", "storage", values(here, ({system}) => system.storage)), choice("File system", "system", values(here, ({system}) => system.file_system))));
    return [
      make("h1", {}, entries.length === 1 ? "One result of a database server" : `${number(entries.length)} results of database servers`),
      make("p", {className: "sub"}, `Each figure was computed again from its archive. Only what was measured alike is ranked: ${count === 1 ? "all of it here" : `${count} such groups are here`}.`),
      make("div", {className: "filters"},
        choice("Workload", "workload", values(entries, ({conditions}) => conditions.label)), make("label", {className: "check"}, durable, "Durable only"),
        choice("Ranked by", "by", Object.entries(MEASURES).filter(([, {of}]) => here.some(of)).map(([key, {name}]) => [key, name]), "most"),
        choice("What is compared", "group", offered.map((group) => [group, `${group} (${groups.get(group).length})`]), "wide")),
      more,
      place,
    ];
  };
  const matches = (entry) => {
    const text = JSON.stringify([entry.id, entry.sentence, entry.system, entry.about, entry.claimed.server_settings]).toLowerCase();
    return state.words.split(/\s+/).every((word) => text.includes(word)) && (!state.product || product(entry) === state.product)
      && (!state.version || entry.system.product === state.version) && (!state.machine || entry.about.machine === state.machine)
      && (!state.cpu || entry.system.cpu === state.cpu) && (!state.storage || entry.system.storage === state.storage)
      && (!state.system || entry.system.file_system === state.system);
  };
  const table = (here) => {
    if (!here.some(MEASURES[state.by].of)) state.by = Object.keys(MEASURES).find((key) => here.some(MEASURES[key].of)) ?? "rate";
    const measure = MEASURES[state.by];
    const rows = rank(here.filter(matches).map((entry) => ({entry, figure: measure.of(entry)})).filter(({figure}) => figure)
      .sort((one, other) => disturbed(one.entry) - disturbed(other.entry) || (other.figure.value - one.figure.value) * (measure.less ? -1 : 1)), measure.less);
    const bare = here.filter(matches).filter(({figures}) => !figures.rate).map(({id, sentence}) => make("p", {}, make("a", {href: `#entry=${id}`}, sentence)));
    if (!rows.length) return bare.length ? bare : [make("p", {}, "Nothing matches.")];
    const most = Math.max(...rows.map(({figure}) => figure.high ?? figure.value)), first = rows[0].entry;
    const shown = rows.slice(0, state.rows).map((row) => line(row, most, first, measure));
    const compare = make("button", {type: "button", disabled: state.chosen.size < 2, onclick: () => { location.hash = `compare=${[...state.chosen].join(",")}`; }},
      state.chosen.size < 2 ? "Mark two or more to compare them" : `Compare ${state.chosen.size}`);
    const heads = ["", "Place", measure.name, "Server", "99%", "Machine", "Storage", "Differs in", "Measured"];
    const whole = make("table", {className: "mixed"}, make("caption", {}, "Ranking"),
      make("thead", {}, make("tr", {}, ...heads.map((head) => head ? make("th", {scope: "col", className: "text"}, head) : make("td")))), make("tbody", {}, ...shown));
    const rest = rows.length - shown.length;
    const more = rest > 0 ? make("button", {type: "button", onclick: () => { state.rows += 10 * ROWS; fill(); }}, `Show ${rest} more`) : "";
    const note = [rows.some(({figure}) => figure.low === null) ? "Without a place: no interval is known, as with fewer than five cycles, or of a figure of whole runs such as QphH." : "",
      rows.some(({entry}) => disturbed(entry)) ? "Disturbed: others used the machine meanwhile, so that the figure is not that of the database." : ""].join(" ");
    return [make("p", {className: "note"}, `A place counts those that are better for sure: entries of one place cannot be told apart, as their intervals of 95% overlap. ${note}`), compare,
      make("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": "Ranking, table"}, whole), more];
  };
  const DIFFERS = {
    limits: ({system}) => system.limits, transport: ({system}) => system.transport, dsbench: ({dsbench}) => dsbench, resumed: ({conditions}) => conditions.resumed ? "once or more" : "",
    options: ({claimed}) => listed(claimed.beside),
    settings: ({claimed}) => Object.entries(claimed.server_settings).filter(([name]) => !/^(lc_|TimeZone|log_timezone|default_text)/.test(name)).map((pair) => pair.join(" ")).join(", "),
  };
  const line = ({entry, figure, place, tied}, most, first, measure) => {
    const box = make("input", {type: "checkbox", checked: state.chosen.has(entry.id), "aria-label": `Compare ${entry.id}`, onchange: () => {
      if (box.checked) state.chosen.add(entry.id); else state.chosen.delete(entry.id);
      fill();
    }});
    const share = (value) => `${(100 * value / most).toFixed(2)}%`;
    const bar = make("div", {className: "bar"}, Object.assign(make("i"), {style: `width: ${share(figure.value)}`}));
    if (figure.low !== null) bar.append(Object.assign(make("b"), {style: `left: ${share(figure.low)}; width: ${share(figure.high - figure.low)}`}));
    const interval = figure.low === null ? "no interval" : `${number(figure.low, 3)} to ${number(figure.high, 3)}`;
    const differs = Object.entries(DIFFERS).filter(([, pick]) => String(pick(entry)) !== String(pick(first)))
      .map(([name, pick]) => `${name} ${String(pick(entry)).slice(0, 60) || "default"}`).join("; ");
    const cell = (head, text, className = "") => make("td", {className: `${className}${text ? "" : " none"}`.trim(), "data-head": head}, text || "–");
    return make("tr", {}, make("td", {}, box), make("td", {}, disturbed(entry) ? "disturbed" : place ? `${place}${tied ? " (tied)" : ""}` : "–"),
      make("td", {className: "figure"}, make("strong", {}, `${number(figure.value)} ${measure.unit(entry)}`), make("small", {}, interval), bar),
      make("td", {className: "text"}, make("a", {href: `#entry=${entry.id}`}, entry.system.product), make("small", {}, entry.about.by)),
      cell("99%", entry.figures.p99_ns === null || entry.figures.p99_ns === undefined ? "" : time(entry.figures.p99_ns)), cell("Machine", machine(entry), "text"),
      cell("Storage", [entry.system.file_system, entry.system.storage.split(", ").slice(0, 2).join(", ")].filter(Boolean).join(" on "), "text"),
      cell("Differs in", differs, "text"), cell("Measured", entry.measured));
  };

  // Servers of one name are told apart by their clients, else by their day.
  const named = (entry, among) => {
    const same = among.filter((other) => other !== entry && other.system.product === entry.system.product);
    const clients = ({conditions}) => conditions.clients.join(", ");
    return entry.system.product + (!same.length ? "" : same.some((other) => clients(other) !== clients(entry)) ? `, ${counted(clients(entry))}` : `, ${entry.measured}`);
  };
  const counted = (clients) => `${clients} ${clients === "1" ? "client" : "clients"}`;

  // --- Rate over the size, both on logarithmic axes.
  const ticks = (from, to) => {
    const powers = Array.from({length: 20}, (_, at) => 10 ** (at - 4)), shown = (steps) => powers.flatMap((power) => steps.map((step) => step * power)).filter((tick) => tick >= from && tick <= to);
    return [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]].map(shown).find((found, at) => found.length > 2 || at === 2);
  };
  const curve = (chosen) => {
    const lines = chosen.flatMap((entry, position) => (entry.figures.curves ?? []).map(({points, clients, stage}, at, all) => ({
      name: all.length > 1 ? `${entry.system.product}, ${stage === "load" ? counted(String(clients)) : stage}` : named(entry, chosen), ink: INKS[position % INKS.length], dash: at ? `${2 + 3 * at} 3` : "",
      points: points.filter(([scale, , rate]) => scale > 0 && rate > 0),
    }))).filter(({points}) => points.length > 1);
    if (!lines.length) return "";
    const all = lines.flatMap(({points}) => points), xs = all.map(([x]) => Math.log10(x)), ys = all.map(([, , y]) => Math.log10(y));
    const [left, right] = [Math.min(...xs), Math.max(...xs)], [low, high] = [Math.min(...ys) - 0.1, Math.max(...ys) + 0.1];
    // As wide as it is shown, so that letters keep their size.
    const W = Math.max(340, Math.min(736, view.clientWidth)), H = 320, left_ = 76, narrow = W < 500, right_ = narrow ? 16 : 176, x = (v) => left_ + (W - left_ - right_) * (right > left ? (Math.log10(v) - left) / (right - left) : 0.5);
    const y = (v) => 24 + (H - 72) * (1 - (Math.log10(v) - low) / (high - low));
    const svg = (name, attributes, text = "") => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      made.textContent = text;
      return made;
    };
    const drawn = svg("svg", {viewBox: `0 0 ${W} ${H + (narrow ? 18 * lines.length : 0)}`, class: "curve", role: "img", "aria-label": "Rate over the scale"});
    drawn.append(svg("text", {x: left_, y: 12}, "transactions per second"));
    for (const tick of ticks(10 ** low, 10 ** high)) {
      drawn.append(svg("line", {x1: left_, x2: W - right_ + 8, y1: y(tick), y2: y(tick), class: "grid"}), svg("text", {x: left_ - 8, y: y(tick) + 4, "text-anchor": "end"}, number(tick)));
    }
    for (const scale of [...new Set(all.map(([value]) => value))].sort((a, b) => a - b)) drawn.append(svg("text", {x: x(scale), y: H - 28, "text-anchor": "middle"}, number(scale)));
    drawn.append(svg("text", {x: left_ + (W - left_ - right_) / 2, y: H - 8, "text-anchor": "middle"}, "scale"));
    const ends = [];
    for (const {points, ink, dash, name} of lines) {
      drawn.append(svg("polyline", {points: points.map(([scale, , rate]) => `${x(scale)},${y(rate)}`).join(" "), fill: "none", stroke: ink, "stroke-width": 2, "stroke-dasharray": dash}));
      for (const [scale, , rate] of points) drawn.append(svg("circle", {cx: x(scale), cy: y(rate), r: 3, fill: ink}));
      // Where there is no room beside the lines, their names stand below.
      let at = narrow ? H + 14 + 18 * ends.length : y(points.at(-1)[2]) + 4;
      while (ends.some((other) => Math.abs(other - at) < 14)) at += 14;
      ends.push(at);
      if (narrow) drawn.append(svg("line", {x1: left_ - 28, x2: left_ - 8, y1: at - 4, y2: at - 4, stroke: ink, "stroke-width": 2, "stroke-dasharray": dash}));
      drawn.append(svg("text", {x: narrow ? left_ : x(points.at(-1)[0]) + 8, y: at}, name.slice(0, narrow ? 40 : 28)));
    }
    return drawn;
  };

  const terms = (pairs) => make("dl", {}, ...pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== "–")
    .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const SYSTEM = {
    Server: ({system}) => system.product, CPU: ({system}) => `${system.cpus ?? "?"} × ${system.cpu}`, Memory: ({system}) => system.ram, Storage: ({system}) => system.storage,
    "File system": ({system}) => system.file_system, "Operating system": ({system}) => [system.os, system.kernel, system.architecture].filter(Boolean).join(", "),
    Virtual: ({system}) => system.virtual, Transport: ({system}) => system.transport, Limits: ({system}) => system.limits,
    Machine: ({about}) => about.machine, Price: ({about}) => about.price ? `${number(about.price.per_hour)} ${about.price.currency} per hour` : "",
  };
  const listed = (pairs, between = " ") => Object.entries(pairs).map(([name, value]) => value === "True" ? name : `${name}${between}${value}`).join(", ");
  const CONDITIONS = {
    Workload: ({conditions}) => conditions.label, Settings: ({conditions}) => listed(conditions.settings),
    Scales: ({conditions}) => conditions.scales.join(", "), Clients: ({conditions}) => conditions.clients.join(", "), Nodes: ({conditions}) => String(conditions.nodes || ""), Cycles: ({conditions}) => conditions.cycles,
    Pacing: ({conditions}) => conditions.pacing, Client: ({conditions}) => conditions.client, Options: ({conditions}) => listed(conditions.options),
    Durability: ({conditions}) => conditions.durable ? "durable" : `not durable: ${conditions.not_durable.join(", ")}`,
    Resumed: ({conditions}) => conditions.resumed ? "once or more: settings are those of its last part" : "",
  };
  const CLAIMED = {
    Isolation: ({claimed}) => claimed.isolation, "Other options": ({claimed}) => listed({...claimed.options, ...claimed.beside}),
    "Server settings": ({claimed}) => listed(claimed.server_settings, " = "),
    "Measured": ({measured, dsbench}) => `${measured} with dsbench ${dsbench}`, "By": ({about}) => about.by, Notes: ({about}) => about.notes,
  };
  const FIGURES = {
    ...Object.fromEntries(Object.keys(MEASURES).filter((key) => key.startsWith("stage ")).map((key) => [MEASURES[key].name, (entry) => { const found = MEASURES[key].of(entry); return found ? number(found.value) : "–"; }])),
    "Highest rate": ({figures}) => figures.rate ? `${number(figures.rate.value)} ${figures.rate.unit}` : "–",
    "Interval of 95%": ({figures}) => figures.rate && figures.rate.low !== null ? `${number(figures.rate.low)} to ${number(figures.rate.high)}` : "–",
    "At": ({figures}) => figures.rate ? `scale ${figures.rate.scale}, ${counted(String(figures.rate.clients))}${figures.rate.stage === "load" ? "" : `, stage ${figures.rate.stage}`}` : "–",
    "Median": ({figures}) => time(figures.p50_ns), "99% take at most": ({figures}) => time(figures.p99_ns),
    "Failed attempts": ({figures}) => figures.failed ? `${number(100 * figures.failed, 2)}%` : "none",
    "Index DSI": ({figures}) => figures.dsi ? `${figures.dsi.value.toFixed(2)}${figures.dsi.low === null ? "" : ` (${figures.dsi.low.toFixed(2)} to ${figures.dsi.high.toFixed(2)})`}${figures.dsi.comparable ? "" : ", these scales only"}` : "–",
    "Transactions for money": (entry) => { const by = MEASURES[`price ${entry.about.price?.currency}`], found = by?.of(entry); return found ? `${number(found.value)} ${by.unit(entry)}` : "–"; },
    "Energy": ({figures: {energy}}) => energy ? `${number(energy.joules, 3)} J per transaction, ${number(energy.watts, 3)} W, by ${energy.by}` : "–",
  };
  const pairs = (fields, entry) => Object.entries(fields).map(([name, pick]) => [name, pick(entry)]);
  const entryPage = (id) => {
    const entry = byId.get(id);
    if (!entry) return [make("h1", {}, "There is no such entry"), make("p", {}, make("a", {href: "#ranking"}, "To the ranking"))];
    const near = groups.get(entry.group).length - 1;
    return [make("h1", {}, entry.sentence), disturbed(entry) ? make("p", {className: "disturbed"}, `Disturbed: ${entry.verdict.why.join("; ")}. Do not use this figure.`) : "",
      make("p", {className: "sub"}, entry.group), curve([entry]),
      make("h2", {}, "Figures"), terms(pairs(FIGURES, entry)),
      ...(entry.warnings.length ? [make("h2", {}, "Warnings"), make("ul", {}, ...entry.warnings.map((one) => make("li", {}, one)))] : []),
      make("h2", {}, "System"), terms(pairs(SYSTEM, entry)), make("h2", {}, "Conditions"), terms(pairs(CONDITIONS, entry)),
      make("h2", {}, "Claimed"), make("p", {className: "sub"}, "What the archive says and none of its tables shows."), terms(pairs(CLAIMED, entry)),
      make("h2", {}, "Evidence"), make("p", {}, site.linked ? make("a", {href: `entries/${id}/archive.zip`, download: `${id}.zip`}, "The archive") : `entries/${id}/archive.zip`, " holds every count. dsbench show computes all of this from it again."),
      site.reports ? make("p", {}, make("a", {href: `entries/${id}/report.html`}, "The whole report")) : "",
      make("p", {}, near ? `${near} other ${near === 1 ? "entry was" : "entries were"} measured alike: ` : "No other entry was measured alike. ",
        near ? make("a", {href: "#ranking", onclick: () => { state.group = entry.group; }}, "see the ranking") : "")];
  };
  const comparison = (ids) => {
    const chosen = ids.map((id) => byId.get(id)).filter(Boolean);
    if (chosen.length < 2) return [make("h1", {}, "Nothing to compare"), make("p", {}, make("a", {href: "#ranking"}, "Mark two entries in the ranking"))];
    const body = Object.entries({...FIGURES, Disturbed: (entry) => disturbed(entry) ? entry.verdict.why.join("; ") : "", ...SYSTEM, ...CONDITIONS, ...CLAIMED}).map(([name, pick]) => [name, chosen.map((entry) => pick(entry) || "–")])
      .filter(([, cells]) => cells.some((cell) => cell !== "–"))
      .map(([name, cells]) => make("tr", {}, make("th", {scope: "row"}, name), ...cells.map((cell) => make("td", {className: name in FIGURES || cell === cells[0] ? "text" : "text other"}, cell))));
    const [first, other] = chosen.map(({figures}) => figures.rate), times = first && other ? other.value / first.value : null;
    const clear = first && other && first.low !== null && other.low !== null && (first.high < other.low || other.high < first.low);
    const alike = new Set(chosen.map(({group}) => group)).size === 1;
    const names = chosen.map((entry) => named(entry, chosen));
    const verdict = !alike ? "These were not measured alike: the table tells what differs" : chosen.length > 2 || times === null ? `${chosen.length} servers side by side`
      : chosen.some(disturbed) ? `${names[0]} and ${names[1]}: other work disturbed ${chosen.every(disturbed) ? "both" : names[chosen.findIndex(disturbed)]}`
      : first.low === null || other.low === null ? `${names[0]} and ${names[1]}: without an interval nobody can tell which is faster`
      : clear ? `${names[1]} does ${number(times, 3)} times the rate of ${names[0]}` : `${names[0]} and ${names[1]} cannot be told apart`;
    return [make("h1", {}, verdict), make("p", {className: "sub"}, "What differs from the first is coloured."), curve(chosen),
      make("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": "Side by side, table"}, make("table", {className: "sides"}, make("caption", {}, "Side by side"),
        make("thead", {}, make("tr", {}, make("td"), ...chosen.map((entry, at) => make("th", {scope: "col"}, make("a", {href: `#entry=${entry.id}`}, names[at]), make("small", {}, ` ${entry.measured}`))))), make("tbody", {}, ...body)))];
  };
  // --- One machine, one product, one group, several versions.
  const versions = () => {
    const found = new Map();
    for (const entry of entries.filter(({figures}) => figures.rate)) {
      const {transport} = entry.system;
      const key = [`${product(entry)} on ${machine(entry)}`, [entry.group, transport].filter(Boolean).join(" · ")].join("\n");
      found.set(key, [...(found.get(key) ?? []), entry]);
    }
    const many = [...found].filter(([, list]) => new Set(list.map(({system}) => system.product)).size > 1);
    const parts = many.map(([key, list]) => {
      const [title, alike] = key.split("\n");
      list.sort((one, other) => one.system.product.localeCompare(other.system.product, "en", {numeric: true}) || one.measured.localeCompare(other.measured));
      const base = list[0].figures.rate;
      const rows = list.map((entry) => {
        const {value, low, high} = entry.figures.rate, tied = disturbed(entry) || disturbed(list[0]) ? "disturbed" : low === null || base.low === null ? "no interval" : low <= base.high && base.low <= high ? "not told apart" : "";
        return make("tr", {}, make("th", {scope: "row"}, make("a", {href: `#entry=${entry.id}`}, entry.system.product.slice(product(entry).length + 1) || entry.system.product)), make("td", {}, entry.measured), make("td", {}, `${number(value)} ${entry.figures.rate.unit}`),
          make("td", {}, low === null ? "–" : `${number(low, 3)} to ${number(high, 3)}`), make("td", {}, entry === list[0] ? "1" : number(value / base.value, 3)), make("td", {}, entry === list[0] && !disturbed(entry) ? "" : tied));
      });
      return make("section", {}, make("h2", {}, title), make("p", {className: "sub"}, alike), make("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": `${title}, ${alike}, table`}, make("table", {className: "numbers versions"}, make("caption", {}, `${title}, ${alike}`),
        make("thead", {}, make("tr", {}, ...["Version", "Measured", "Rate", "Interval", "Relative", "Beside the first"].map((head) => make("th", {scope: "col"}, head)))), make("tbody", {}, ...rows))));
    });
    return [make("h1", {}, many.length ? "Versions on one machine" : "No machine has several versions of one product yet"), ...parts];
  };
  const about = () => [make("h1", {}, "How to read this"),
    make("p", {}, "Every entry holds the archive of a dsbench run. Before it was shown here, dsbench computed each figure from the archive again, and held its counts against each other: transactions against histograms, the course, the check of the database, and the machine's own counters. What did not fit was refused."),
    make("p", {}, "Ranked together is what did the same work: workload, sizes, clients, cycles, pacing, durability, isolation and options. What else differs is told in the row. The place of an entry is one more than there are entries whose whole interval of 95% is better than its own. One whose machine did other work meanwhile is called disturbed and has none."),
    make("p", {}, "Claimed is what no table of an archive shows: the isolation, how statements are sent, settings of the server, the names of machine and processor, the day, the price."),
    make("p", {}, "Nothing here is a result in the sense of the TPC."),
    make("p", {}, `Made by dsbench ${site.version}. Add your own: dsbench commons publish ARCHIVE --to FOLDER, and send a pull request.`)];
  const show = () => {
    const [name, value = ""] = location.hash.slice(1).split("=");
    const content = name === "entry" ? entryPage(value) : name === "compare" ? comparison(value.split(/,|%2C/i)) : name === "versions" ? versions() : name === "about" ? about() : ranking();
    view.replaceChildren(...content.filter(Boolean));
    for (const link of document.querySelectorAll("nav[aria-label=Views] a")) link.toggleAttribute("aria-current", link.hash === `#${name || "ranking"}`);
  };
  addEventListener("hashchange", () => { show(); scrollTo(0, 0); });
  show();
})();
