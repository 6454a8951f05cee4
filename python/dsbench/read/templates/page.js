"use strict";
// Draws the Vega-Lite specifications that stand in the page, with vegaEmbed, and makes tables sort and copy.
// Loads nothing.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "{}");
  const make = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // --- Light and dark: as the system has it, until the button was pressed.
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const kept = {  // A page in a sandbox may keep nothing.
    get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
    set: (theme) => { try { localStorage.setItem("theme", theme); } catch { /* until it is closed */ } },
  };
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  if (["light", "dark"].includes(kept.get())) root.dataset.theme = kept.get();
  const theme = make("button", {type: "button", className: "theme"});
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    kept.set(root.dataset.theme);
    name();
    redraw();
  });
  system.addEventListener("change", () => { name(); redraw(); });
  name();
  addEventListener("message", ({source, data}) => {  // The page around this one has a switch of its own.
    if (source !== parent || parent === window || typeof data?.theme !== "string") return;
    if (data.theme) root.dataset.theme = data.theme; else delete root.dataset.theme;
    redraw();
  });
  const top = document.querySelector("main > .top");
  if (parent !== window) theme.hidden = true;
  if (top) top.append(theme); else document.querySelector("main")?.prepend(theme);

  // --- Diagrams. Each has a menu of our own that saves it.
  const options = {renderer: "svg", actions: false};
  const DARK = {
    black: "#e8e6e3", white: "#161718", "#333333": "#c9c7c3", "#5a5a5a": "#a9a7a3", "#888888": "#85837f",
    "#e4e4e4": "#303336", "#0072b2": "#4da3dc", "#8b5fbf": "#b493e0", "#a6761d": "#cf9d3f", "#c1121f": "#ff6b74",
    "#004a73": "#2a6f9e", "#7a3b2e": "#a65a49",
  };
  const inDark = (value) => {
    if (typeof value === "string") return DARK[value] ?? value;
    if (Array.isArray(value)) return value.map(inDark);
    if (value === null || typeof value !== "object") return value;
    if (value.name === "viridis" && value.extent) return {...value, extent: [0.25, value.extent[1]]};  // Its deep end is the paper.
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, key === "datasets" ? part : inDark(part)]));
  };
  const darkened = (spec) => {
    const found = inDark(spec), ink = {labelColor: "#e8e6e3", titleColor: "#e8e6e3"};
    const {axis, legend, title, text, ...rest} = found.config;
    return {...found, config: {...rest, axis: {...axis, ...ink}, legend: {...legend, ...ink},
      title: {...title, color: "#e8e6e3"}, text: {color: "#e8e6e3", ...text}}};
  };

  // On a page a diagram has the page's font, at a size that is read as its text is.
  const READ = 13;
  const readable = (spec) => {
    const {axis, legend, title, text, ...rest} = spec.config ?? {}, font = getComputedStyle(document.body).fontFamily;
    const words = {labelFont: font, titleFont: font, labelFontSize: READ, titleFontSize: READ};
    return {...spec, config: {...rest, font, axis: {...axis, ...words}, legend: {...legend, ...words},
      title: {...title, font, subtitleFont: font, fontSize: Math.max(READ + 1, title?.fontSize ?? 0), subtitleFontSize: READ - 1},
      text: {...text, font, fontSize: READ - 1}}};
  };

  const units = (spec) => (spec.layer ?? spec.hconcat ?? spec.vconcat)?.flatMap(units) ?? [spec];
  const copy = (spec) => ({...structuredClone({...spec, datasets: undefined}), datasets: spec.datasets});
  const numeric = (spec) => units(spec).map((unit) => unit.encoding?.y).filter((y) => y?.type === "quantitative" && y.scale && y.axis !== null);
  // The name of each series, and how a unit shows that it is one: by a constant, or by a field of its rows.
  const series = (spec) => {
    const found = new Set();
    for (const {encoding, data} of units(spec)) {
      const colour = encoding?.color;
      if (typeof colour?.datum === "string") found.add(colour.datum);
      else if (colour?.field && colour.type === "nominal")
        for (const row of spec.datasets?.[data?.name ?? spec.data?.name] ?? []) if (row[colour.field] != null) found.add(row[colour.field]);
    }
    return [...found].filter((one) => typeof one === "string");
  };
  const without = (spec, hidden) => {
    const keep = (part) => {
      for (const key of ["layer", "hconcat", "vconcat"]) {
        if (!part[key]) continue;
        part[key] = part[key].filter((one) => !hidden.has(one.encoding?.color?.datum) || one.encoding.x?.axis || one.encoding.y?.axis);
        part[key].forEach(keep);
      }
      const colour = part.encoding?.color;
      if (hidden.has(colour?.datum)) part.mark = {...part.mark, opacity: 0, fillOpacity: 0, strokeOpacity: 0};
      if (colour?.field && colour.type === "nominal")
        part.transform = [...(part.transform ?? []), {filter: {not: {field: colour.field, oneOf: [...hidden]}}}];
    };
    keep(spec);
  };
  const flip = (spec) => {
    for (const y of numeric(spec)) {
      const log = y.scale.type !== "log";
      const {domain, nice, ...scale} = y.scale;
      y.scale = {...scale, type: log ? "log" : "linear", ...(log ? {} : {zero: true})};
      const title = y.title ?? y.axis?.title;
      const renamed = title && (log ? `${title}, log scale` : title.replace(", log scale", ""));
      if (y.title) y.title = renamed;
      if (y.axis) {
        const {values, tickCount, ...axis} = y.axis;
        y.axis = {...axis, ...(axis.title ? {title: renamed} : {})};
      }
    }
  };

  // A diagram that is as wide as its frame, which may be a telephone: its title takes several lines, its legend stands
  // below it, and names beside it leave it more than half.
  const NARROW = 480;
  const wrapped = (text, letters) => [text].flat().flatMap((line) => {
    const lines = [""];
    for (const word of line.split(" ")) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (longer.length > letters && lines.at(-1)) lines.push(word); else lines[lines.length - 1] = longer;
    }
    return lines;
  });
  const titled = ({title, config}, width) => {
    const told = {...config?.title, ...title};
    for (const [key, size] of [["text", told.fontSize ?? 13], ["subtitle", told.subtitleFontSize ?? 11]]) {
      if (title?.[key]) title[key] = wrapped(title[key], width / (0.55 * size));
    }
  };
  // Plots one below the other take the width that their axis leaves.
  const AXIS = 110;
  const fitted = (spec, width) => {
    if (width > 0 && spec.vconcat?.every((one) => one.width > 0)) {
      for (const one of spec.vconcat) {
        one.width = Math.max(240, width - AXIS);
        if (typeof one.title === "string") one.title = {text: wrapped(one.title, width / (0.65 * 13))};
      }
      return spec;
    }
    if (spec.width !== "container" || width === 0) return spec;
    titled(spec, width);
    return width > NARROW ? spec : narrowed(spec, width);
  };
  const stack = (part) => {
    if (part.hconcat) {
      part.vconcat = part.hconcat;
      delete part.hconcat;
    }
    part.vconcat?.forEach(stack);
  };
  const narrowed = (spec, width) => {
    stack(spec);
    for (const {encoding} of units(spec)) {
      if (encoding?.y?.axis?.labelLimit > 0.4 * width) encoding.y.axis.labelLimit = 0.4 * width;
      for (const {legend} of Object.values(encoding ?? {})) {
        if (legend?.columns > 1) Object.assign(legend, legend.labelLimit ? {columns: 1, labelLimit: 0.8 * width} : {columns: 2});
      }
    }
    return {...spec, config: {...spec.config, legend: {...spec.config?.legend, orient: "bottom"}}};
  };

  // A diagram that is wider than its frame scrolls within it, by keyboard too.
  const reachable = (place) => {
    const {diagram, course} = place.dataset, name = diagram ? `Diagram ${diagram}` : `Course of scale ${course}`;
    const wide = place.scrollWidth > place.clientWidth, told = {tabindex: "0", role: "region", "aria-label": name};
    for (const [key, value] of Object.entries(told)) {
      if (wide) place.setAttribute(key, value); else place.removeAttribute(key);
    }
  };

  // --- Saving a diagram as it is shown, in light colours. Words keep their size while the picture takes the width.
  // Axes, names and legends stand beside the plots: two layouts tell how wide these have to be.
  const plots = (spec) => [spec, ...(spec.layer ?? spec.hconcat ?? spec.vconcat ?? []).flatMap(plots)].filter((one) => one.width > 0);
  const laidOut = async (spec, width) => {
    const area = make("div", {className: "aside"});
    titled(spec, width);
    if (spec.width === "container") spec.width = width;
    if (width <= NARROW) spec = narrowed(spec, width);
    const own = plots(spec).map((one) => [one, one.width]);
    const lay = async (factor) => {
      for (const [one, natural] of own) one.width = natural * factor;
      const {view} = await vegaEmbed(area, spec, {renderer: "none", actions: false}), svg = await view.toSVG();
      const [across, down] = svg.match(/viewBox="0 0 ([\d.]+) ([\d.]+)"/).slice(1).map(Number);
      return {svg, across, down, png: (pixels) => view.toImageURL("png", (pixels + 0.01) / across)};
    };
    document.body.append(area);
    try {
      const first = await lay(1), factor = width / first.across;
      if (Math.abs(first.across - width) < 2) return first;
      const second = await lay(factor), slope = (second.across - first.across) / (factor - 1);
      return slope > 0 ? await lay(Math.max(0.25, 1 + (width - first.across) / slope)) : second;
    } finally {
      area.remove();
    }
  };
  const download = (name, address) => make("a", {href: address, download: name}).click();
  const downloadText = (name, text, type) => {
    const address = URL.createObjectURL(new Blob([text], {type}));
    download(name, address);
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const SLIDE = 960, PAPER = 640;  // Widths of the layout in pixels: half of a slide, 17 cm of a paper.
  const printed = async (spec, mm) => {
    const {svg, across, down} = await laidOut(spec, PAPER * mm / 170), tall = (mm * down / across).toFixed(2);
    return {mm, tall, svg: svg.replace(/ width="[\d.]+" height="[\d.]+"/, ` width="${mm}mm" height="${tall}mm"`)};
  };
  const printAlone = (name, {mm, tall, svg}) => {
    const sheet = make("div", {id: "sheet", innerHTML: svg}), title = document.title;
    const style = make("style", {textContent: `@page { size: ${mm}mm ${tall}mm; margin: 0; }`});
    document.body.append(sheet, style);
    document.title = name;  // Which is what a browser calls the file.
    root.classList.add("alone");
    addEventListener("afterprint", () => {
      root.classList.remove("alone");
      document.title = title;
      sheet.remove();
      style.remove();
    }, {once: true});
    print();
  };
  const FORMS = {
    "PNG for slides, 1920 pixels": async (name, spec) => download(`${name}-slide.png`, await (await laidOut(spec, SLIDE)).png(1920)),
    "PNG for a paper, 17 cm at 300 dpi": async (name, spec) => download(`${name}.png`, await (await laidOut(spec, PAPER)).png(2008)),
    ...Object.fromEntries([["17 cm", 170, ""], ["8.5 cm, a column", 85, "-column"]].flatMap(([size, mm, end]) => [
      [`SVG, ${size}`, async (name, spec) => downloadText(`${name}${end}.svg`, (await printed(spec, mm)).svg, "image/svg+xml")],
      [`PDF, ${size}, by the print dialog`, async (name, spec) => printAlone(name + end, await printed(spec, mm))],
    ])),
    "Vega-Lite source": async (name, spec) => downloadText(`${name}.vl.json`, JSON.stringify(spec, null, 1), "application/json"),
  };
  // A file is named by what the page is about: an archive, a study, what is compared.
  const about = document.title.split(" – ").at(-1).replace(/[^\p{L}\p{N}.-]+/gu, "_").slice(0, 80);
  const menuToSave = (name, current, figure) => {
    const inner = make("div", {className: "series"});
    for (const [form, save] of Object.entries(FORMS)) {
      const button = make("button", {type: "button", textContent: form});
      button.addEventListener("click", () => save(`${about}-${name}`, current()));
      inner.append(button);
    }
    if (figure) {
      const link = make("button", {type: "button", textContent: "Copy the link"});
      link.addEventListener("click", () => {
        copied(`${location.href.split("#")[0]}#${figure}`);
        link.textContent = "Copied";
        setTimeout(() => { link.textContent = "Copy the link"; }, 1500);
      });
      inner.append(link);
    }
    const summary = make("summary", {textContent: "Save"});
    summary.setAttribute("aria-label", `Save the diagram ${name}`);
    return make("details", {className: "save"}, summary, inner);
  };

  const drawn = [];
  let printing = false;
  const draw = (place, spec) => {
    const state = {flipped: false, hidden: new Set()}, names = series(spec), area = make("div");
    new ResizeObserver(() => reachable(place)).observe(place);
    const current = () => {
      const shown = copy(spec);
      if (state.flipped) flip(shown);
      if (state.hidden.size) without(shown, state.hidden);
      return shown;
    };
    const show = () => {
      const here = fitted(readable(current()), place.clientWidth), shown = isDark() && !printing ? darkened(here) : here;
      return vegaEmbed(area, shown, options).then(() => {
        reachable(place);
        // A group of marks without any has no name, and nothing to read.
        for (const group of area.querySelectorAll("[role=graphics-symbol]:not([aria-label])")) {
          group.removeAttribute("role");
          group.removeAttribute("aria-roledescription");
        }
      }).catch((error) => {
        area.textContent = `This diagram cannot be drawn here: ${error.message}`;
      });
    };
    const tools = make("div", {className: "tools"});
    if (place.dataset.switch !== undefined && numeric(spec).length) {
      const log = numeric(spec)[0].scale.type === "log";
      const button = make("button", {type: "button", textContent: log ? "Linear axis" : "Log axis"});
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => {
        state.flipped = !state.flipped;
        button.setAttribute("aria-pressed", String(state.flipped));
        show();
      });
      tools.append(button);
    }
    if (names.length > 1 && names.length <= 30) {
      const inner = make("div", {className: "series"});
      for (const one of names) {
        const box = make("input", {type: "checkbox", checked: true});
        box.addEventListener("change", () => {
          if (box.checked) state.hidden.delete(one); else state.hidden.add(one);
          show();
        });
        inner.append(make("label", {}, box, ` ${one}`));
      }
      tools.append(make("details", {}, make("summary", {textContent: "Series"}), inner));
    }
    tools.append(menuToSave(place.dataset.diagram ?? `course-${place.dataset.course}`, current, place.closest("figure")?.id));
    place.replaceChildren(area);
    place.after(tools);
    drawn.push(show);
    return show();
  };
  const redraw = () => drawn.forEach((show) => show());

  // Paper is light. What was drawn dark takes its light colours in place: printing waits for no new drawing.
  const LIGHT = Object.fromEntries(Object.entries(DARK).map(([light, dark]) => [dark, light]));
  const isAlone = () => root.classList.contains("alone");
  addEventListener("beforeprint", () => {
    printing = true;
    for (const mark of document.querySelectorAll(".chart svg :is([fill], [stroke])")) {
      for (const key of ["fill", "stroke"]) {
        const light = LIGHT[mark.getAttribute(key)];
        if (light) mark.setAttribute(key, light);
      }
    }
  });
  addEventListener("afterprint", () => {
    printing = false;
    if (isDark()) redraw();
  });

  const specs = read("specs"), courses = read("courses");
  const specOf = ({diagram, course}) => {
    if (diagram) return specs[diagram];
    const {columns, boundaries} = courses[course], names = Object.keys(columns);
    const seconds = columns.second.map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
    return {...specs.course, datasets: {seconds, boundaries: boundaries.map((second) => ({second}))}};
  };
  // What is on the screen, or a screen away from it, is drawn, one after another: the page is shown, and answers, meanwhile.
  // The rest, such as what a tab or a fold hides, is drawn when it comes there, or is printed.
  const waiting = new Set(document.querySelectorAll("[data-diagram], [data-course]")), next = [];
  let drawing = false;
  const drawOne = (place) => {
    near.unobserve(place);
    const shown = waiting.delete(place) ? draw(place, specOf(place.dataset)) : Promise.resolve();
    return shown.then(() => { place.style.minHeight = ""; });
  };
  const drawNext = () => {
    const place = next.shift();
    drawing = place !== undefined;
    if (drawing) drawOne(place).then(() => setTimeout(drawNext));
  };
  const near = new IntersectionObserver((seen) => {
    next.push(...seen.filter((one) => one.isIntersecting).map((one) => one.target));
    if (!drawing) drawNext();
  }, {root: document, rootMargin: "100% 0px"});
  const drawAll = () => [...waiting].forEach(drawOne);
  for (const place of waiting) {
    const {height} = specs[place.dataset.diagram] ?? {};
    if (typeof height === "number") place.style.minHeight = `${height + 90}px`;  // What comes later moves little.
    near.observe(place);
  }

  // --- Tabs: the part of the page that the address names is shown, the first where it names none.
  const tabs = [...document.querySelectorAll("main > [data-tab]")];
  const links = [...document.querySelectorAll("nav a[data-opens]")];
  const open = () => {
    const wanted = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    const tab = wanted?.closest("[data-tab]") ?? tabs.find((one) => !one.hidden) ?? tabs[0];
    for (const one of tabs) one.hidden = one !== tab;
    for (const link of links) {
      if (link.dataset.opens === tab?.dataset.tab) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
    if (wanted) wanted.scrollIntoView();
  };
  if (tabs.length) {
    root.classList.add("tabbed");
    for (const one of tabs.slice(1)) one.hidden = true;
    addEventListener("hashchange", open);
    addEventListener("beforeprint", () => {
      if (isAlone()) return;
      for (const one of tabs) one.hidden = false;
    });
    addEventListener("afterprint", open);
    open();
  }

  // Paper has no folds: all of them are open while it is printed.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    if (isAlone()) return;
    unfolded = [...document.querySelectorAll("main details:not([open])")].filter((fold) => !fold.closest(".tools, .vega-embed"));
    for (const fold of unfolded) fold.open = true;
    drawAll();
  });
  addEventListener("afterprint", () => {
    for (const fold of unfolded) fold.open = false;
    unfolded = [];
  });

  // --- Tables: a head sorts, and a button copies all of it.
  const value = (cell) => {
    const text = cell?.textContent.trim() ?? "", figure = parseFloat(text.replaceAll(",", ""));
    return /^[-+±]?[\d.,]+(\s|%|$)/.test(text) && !Number.isNaN(figure) ? figure : text === "–" || text === "" ? null : text;
  };
  const order = (a, b) => typeof a !== typeof b ? (typeof a === "number" ? -1 : 1)
    : typeof a === "number" ? a - b : a.localeCompare(b);
  const sorting = (table, head, at) => {
    if (!head.textContent.trim()) return;
    const button = make("button", {type: "button", className: "sort"}, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending", body = table.tBodies[0];
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const [one, other] = [value(a.cells[at]), value(b.cells[at])];
        if (one === null || other === null) return (one === null) - (other === null);  // What is missing stays last.
        return (down ? -1 : 1) * order(one, other);
      });
      body.append(...rows);
    });
  };
  // The event works in a file and in a sandbox as well, which have no clipboard everywhere.
  const copied = (text, html) => {
    addEventListener("copy", (event) => {
      event.preventDefault();
      event.clipboardData.setData("text/plain", text);
      if (html) event.clipboardData.setData("text/html", html);
    }, {once: true});
    document.execCommand("copy");
  };
  // One copy is both: cells for a spreadsheet or a document, Markdown for an editor.
  const written = ([head, ...rows], table) => {
    const isRight = (cell, at) => at > 0 && getComputedStyle(cell).textAlign === "right";
    const under = [...(table.tBodies[0]?.rows[0]?.cells ?? table.rows[0].cells)].map((cell, at) => isRight(cell, at) ? "---:" : "---");
    const line = (row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
    return [line(head), line(under), ...rows.map(line)].join("\n") + "\n";
  };
  const celled = (rows) => make("table", {}, ...rows.map((row) => make("tr", {}, ...row.map((textContent) => make("td", {textContent}))))).outerHTML;
  for (const table of document.querySelectorAll("table")) {
    if (table.closest("#warnings")) continue;  // Sentences in the order of what they endanger.
    if (table.tHead && table.tBodies[0]?.rows.length > 1)
      [...table.tHead.rows[0].cells].forEach((head, at) => sorting(table, head, at));
    const cells = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim().replace(/\s+/g, " ")));
    const button = make("button", {type: "button", className: "copy", textContent: "Copy"});
    button.setAttribute("aria-label", `Copy the table ${table.caption?.textContent || table.closest("section")?.querySelector("h2").textContent || ""}`.trim());
    button.addEventListener("click", () => {
      copied(written(cells, table), celled(cells));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    const scroll = table.parentElement, frame = make("div", {className: "framed"});
    scroll.replaceWith(frame);
    frame.append(scroll, button);
  }
})();
