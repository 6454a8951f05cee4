"use strict";
// Draws the Vega-Lite specifications that stand in the page, with vegaEmbed. Loads nothing.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  // The menu of a diagram saves it and shows its source; the link to an editor on the web is left out.
  const options = {renderer: "svg", actions: {export: true, source: true, compiled: false, editor: false}};
  const draw = (place, spec) => vegaEmbed(place, spec, options).catch((error) => {
    place.textContent = `This diagram cannot be drawn here: ${error.message}`;
  });

  const specs = read("specs");
  for (const place of document.querySelectorAll("[data-diagram]")) draw(place, specs[place.dataset.diagram]);

  const courses = read("courses");
  const drawCourse = (place) => {
    if (place.dataset.drawn) return;
    place.dataset.drawn = "yes";
    const {columns, boundaries} = courses[place.dataset.course];
    const names = Object.keys(columns);
    const seconds = columns.second.map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
    draw(place, {...specs.course, datasets: {seconds, boundaries: boundaries.map((second) => ({second}))}});
  };
  for (const part of document.querySelectorAll("#course details")) {
    const place = part.querySelector("[data-course]");
    if (part.open) drawCourse(place);
    part.addEventListener("toggle", () => part.open && drawCourse(place));
  }
})();
