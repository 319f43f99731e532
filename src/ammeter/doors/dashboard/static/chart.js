// Draws each [data-chart] from the JSON beside it, in the colours of the theme.
"use strict";
(() => {
  // A token may hold two colours; an element that wears it tells which one is meant now.
  const token = (name) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(--${name})`;
    const color = getComputedStyle(probe).color;
    probe.remove();
    return color;
  };
  const faint = (color) => color.replace("rgb(", "rgba(").replace(")", ", 0.12)");
  const drawn = new Map();

  const series = (each, unit) => {
    const stroke = token(each.color || "accent");
    const paths = each.kind === "bars" ? uPlot.paths.bars({ size: [0.7, 40], radius: 0.15 }) : undefined;
    return {
      label: each.label,
      stroke,
      width: each.kind === "bars" ? 0 : 2,
      fill: each.kind === "bars" ? stroke : each.kind === "area" ? faint(stroke) : undefined,
      paths,
      spanGaps: each.kind === "dots",
      points: { show: each.kind === "dots", size: 6, fill: stroke },
      value: (_, value) => (value == null ? "–" : `${value.toLocaleString("en")}${unit ? ` ${unit}` : ""}`),
    };
  };

  const draw = (box) => {
    const spec = JSON.parse(document.getElementById(box.dataset.chart).textContent);
    drawn.get(box)?.destroy();
    const axis = { stroke: token("dim"), grid: { stroke: token("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const legend = spec.series.length > 1;
    const whole = spec.series.every((each) => each.values.every((value) => value == null || Number.isInteger(value)));
    const steps = whole ? { incrs: [1, 2, 5].flatMap((n) => [0, 1, 2, 3, 4, 5, 6].map((power) => n * 10 ** power)).sort((a, b) => a - b) } : {};
    const options = {
      width: box.clientWidth,
      height: box.clientHeight - (legend ? 28 : 0),
      padding: [8, 8, 0, 0],
      legend: { show: legend, live: true },
      cursor: { y: false, points: { size: 6 } },
      scales: { y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.08 : 1] } },
      axes: [{ ...axis, grid: { show: false } }, { ...axis, ...steps, size: 52, values: (_, all) => all.map((v) => (v >= 10000 ? `${v / 1000}k` : v.toLocaleString("en"))) }],
      series: [{ value: "{YYYY}-{MM}-{DD} {HH}:{mm}" }, ...spec.series.map((each) => series(each, spec.unit))],
    };
    drawn.set(box, new uPlot(options, [spec.x, ...spec.series.map((each) => each.values)], box));
  };

  const all = () => document.querySelectorAll("[data-chart]").forEach(draw);
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const plot = drawn.get(target);
      if (plot && plot.width !== target.clientWidth) plot.setSize({ width: target.clientWidth, height: plot.height });
    }
  });
  all();
  document.querySelectorAll("[data-chart]").forEach((box) => sizes.observe(box));
  document.addEventListener("ammeter:theme", all);
  document.addEventListener("htmx:afterSettle", (event) => event.target.querySelectorAll?.("[data-chart]").forEach(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
})();
