"use strict";
(() => {
  // Tables: click a heading to sort, again to turn the order round. Cells say what they sort by.
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = head.classList.contains("n");
      const key = (row) => row.cells[column].dataset.sort;
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === ""); // without a value: last, either way
        const order = numeric ? Number(x) - Number(y) : x.localeCompare(y, undefined, { numeric: true });
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows);
    }));
  }

  const figures = [...document.querySelectorAll("figure.series")];
  if (!figures.length) return;
  const page = getComputedStyle(document.documentElement);
  const colour = (name) => (name.startsWith("#") ? name : page.getPropertyValue(`--${name}`).trim());
  const unpack = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  // uPlot leaves a gap at null; NaN it would try to draw.
  const column = (text) => Array.from(unpack(text), (v) => (Number.isNaN(v) ? null : v));
  const short = (v) => (v == null ? "–" : Math.abs(v) >= 1000 ? v.toFixed(0) : String(Number(v.toPrecision(4))));
  // A page does not lay itself out anew for the printer before its canvases are drawn: give them the paper's width.
  const paper = 680;

  // Ticks live under the plot's zero line, a lane for each cause, drawn last so that no line hides them.
  const laneHeight = 11;
  const ticks = (marks, lanes) => ({
    hooks: {
      draw: [(u) => {
        const { ctx, bbox } = u, lane = laneHeight * devicePixelRatio;
        const top = (n) => bbox.top + bbox.height - (lanes.length - n) * lane;
        ctx.save();
        ctx.lineWidth = 1.4 * devicePixelRatio;
        for (const [at, tint, , , n] of marks) {
          if (at < u.scales.x.min || at > u.scales.x.max) continue;
          const x = u.valToPos(at, "x", true);
          ctx.strokeStyle = colour(tint);
          ctx.beginPath();
          ctx.moveTo(x, top(n) + 0.1 * lane);
          ctx.lineTo(x, top(n) + 0.9 * lane);
          ctx.stroke();
        }
        ctx.font = `${9 * devicePixelRatio}px system-ui, sans-serif`;
        ctx.textAlign = "right";
        ctx.textBaseline = "middle";
        ctx.fillStyle = colour("faint");
        lanes.forEach((name, n) => ctx.fillText(name, bbox.left - 5 * devicePixelRatio, top(n) + lane / 2, bbox.left - 6 * devicePixelRatio));
        ctx.restore();
      }],
    },
  });

  function build(figure) {
    const data = figure.data ??= JSON.parse(figure.querySelector("script").textContent);
    const time = data.clock ??= Array.from(unpack(data.time));
    const place = figure.querySelector(".panels"), at = figure.querySelector(".at");
    const kept = figure.range ?? [time[0], time[time.length - 1]];
    for (const old of figure.plots ?? []) old.destroy();
    place.replaceChildren();
    const sync = uPlot.sync(figure.id);
    let moving = false;
    const marks = data.panels.flatMap((panel) => panel.ticks);
    // Names of lanes need room beside the plot, and panels under each other the same.
    const side = data.panels.some((panel) => panel.lanes.some((name) => name) || Object.keys(panel.words).length) ? 92 : 54;
    const width = (document.documentElement.classList.contains("printing") ? paper : place.clientWidth || paper);
    figure.plots = data.panels.map((panel, index) => {
      const last = index === data.panels.length - 1;
      const grid = { stroke: colour("rule"), width: 1 };
      const named = Object.keys(panel.words).map(Number); // modes and states, in the place of numbers
      const axis = { stroke: colour("faint"), grid, ticks: { ...grid, size: 4 }, font: "12px system-ui, sans-serif" };
      return new uPlot({
        title: panel.unit ? `${panel.name}, ${panel.unit}` : panel.name,
        width,
        height: panel.height + (last ? 20 : 0) + laneHeight * panel.lanes.length,
        plugins: panel.ticks.length ? [ticks(panel.ticks, panel.lanes)] : [],
        cursor: { y: false, sync: { key: sync.key, setSeries: false }, drag: { x: true, y: false }, points: { size: 5 } },
        legend: { live: true },
        scales: {
          x: { time: false, min: kept[0], max: kept[1] },
          y: { range: named.length ? [named[0] - 0.3, named[named.length - 1] + 0.3] : (u, low, high) => {
            const top = high > 0 ? high * 1.06 : 1, bottom = Math.min(0, low ?? 0);
            // Title, axis and legend take some 60 pixels of a panel's height.
            const deep = panel.ticks.length ? (top - bottom) * (laneHeight * panel.lanes.length + 3) / (panel.height - 60) : 0;
            return [bottom - deep, top];
          } },
        },
        axes: [
          { ...axis, show: true, size: last ? 38 : 8, values: last ? null : (u, splits) => splits.map(() => ""),
            label: last ? "Time, s" : undefined, labelSize: 16, labelFont: axis.font },
          { ...axis, size: side, ...(named.length ? { splits: named, values: named.map((v) => panel.words[v]) } : {
            values: (u, splits) => splits.map((v) => (v < 0 && panel.ticks.length ? "" : short(v))) }) },
        ],
        series: [
          { label: "s", value: (u, v) => (v == null ? "–" : v.toFixed(3)) },
          ...panel.lines.map((line) => ({
            label: line.name,
            stroke: colour(line.colour),
            width: line.filled ? 0.5 : 1.4 * line.width,
            dash: line.dash.length ? line.dash : undefined,
            fill: line.filled ? colour(line.colour) + "55" : undefined,
            paths: line.dots ? () => null : line.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
            points: { show: line.dots, size: 4, fill: colour(line.colour) },
            value: (u, v) => panel.words[v] ?? short(v),
          })),
        ],
        hooks: {
          setScale: [(u, key) => {
            if (key !== "x" || moving) return;
            moving = true;
            figure.range = [u.scales.x.min, u.scales.x.max];
            for (const other of figure.plots ?? []) {
              if (other !== u) other.setScale("x", { min: u.scales.x.min, max: u.scales.x.max });
            }
            moving = false;
          }],
          setCursor: [(u) => {
            if (!marks.length || u.cursor.left == null || u.cursor.left < 0) return;
            const now = u.posToVal(u.cursor.left, "x"), reach = 6 * (u.scales.x.max - u.scales.x.min) / (u.bbox.width / devicePixelRatio);
            const near = marks.filter(([t]) => Math.abs(t - now) <= reach).slice(0, 3);
            at.textContent = near.map(([t, , word, note]) => `${t.toFixed(3)} s ${word}${note ? `: ${note}` : ""}`).join("; ");
          }],
        },
      }, [time, ...panel.lines.map((line) => line.column ??= column(line.values))], place);
    });
  }

  function zoom(figure, act) {
    const time = figure.data.clock, first = time[0], last = time[time.length - 1];
    const [low, high] = figure.range ?? [first, last], span = high - low;
    let [from, to] = { in: [low + span / 4, high - span / 4], out: [low - span / 2, high + span / 2],
      left: [low - span / 2, high - span / 2], right: [low + span / 2, high + span / 2], all: [first, last] }[act];
    if (from < first) [from, to] = [first, Math.min(last, to + first - from)];
    if (to > last) [from, to] = [Math.max(first, from - to + last), last];
    figure.plots[0].setScale("x", { min: from, max: to });
  }

  for (const figure of figures) {
    // A long page has many series: each is drawn when it is first near the screen.
    new IntersectionObserver((seen, watcher) => {
      if (!seen.some((s) => s.isIntersecting)) return;
      watcher.disconnect();
      if (!figure.plots) build(figure);
    }, { rootMargin: "600px" }).observe(figure);
    figure.querySelector(".tools").addEventListener("click", (event) => {
      const act = event.target.dataset?.zoom;
      if (act && figure.plots) zoom(figure, act);
    });
  }
  const redraw = () => figures.filter((f) => f.plots).forEach(build);
  let waiting, wide = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === wide) return; // a phone's address bar coming and going
    wide = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const printing = (on) => {
    document.documentElement.classList.toggle("printing", on);
    figures.forEach(build);
  };
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
})();
