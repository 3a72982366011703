// The overview's plots: stacked bars of arrivals, lines of the answer time. The colours are the page's.
(function () {
  "use strict";
  document.addEventListener("DOMContentLoaded", function () {
    var place = document.querySelector("[data-plots]");
    if (!place || !window.uPlot) return;
    var data = JSON.parse(place.dataset.plots);
    var zone = place.dataset.zone;
    var tag = place.dataset.lang;
    var drawn = [];
    var clock = new Intl.DateTimeFormat(tag, { hour: "2-digit", minute: "2-digit", timeZone: zone });
    var number = new Intl.NumberFormat(tag, { maximumFractionDigits: 1 });

    function colour(name) { return getComputedStyle(place).getPropertyValue("--plot-" + name).trim(); }
    function options(element, series, named) {
      var height = 200;
      return {
        width: element.clientWidth || 300, height: height, series: series, legend: { show: named, live: false },
        cursor: { drag: { x: false, y: false }, points: { size: 6 } },
        tzDate: function (seconds) { return window.uPlot.tzDate(new Date(seconds * 1000), zone); },
        scales: { y: { range: function (u, low, high) { return [0, Math.max(high || 0, 1) * 1.05]; } } },
        axes: [
          { stroke: colour("ink"), grid: { show: false }, ticks: { show: false }, space: 60,
            values: function (u, splits) { return splits.map(function (s) { return clock.format(s * 1000); }); } },
          { stroke: colour("ink"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, size: 46,
            values: function (u, splits) { return splits.map(function (v) { return number.format(v); }); } }
        ]
      };
    }
    function arrivals(element) {
      var names = Object.keys(data.outcomes);
      var sums = data.times.map(function () { return 0; });
      var stacked = names.map(function (name) {
        sums = sums.map(function (sum, i) { return sum + data.outcomes[name][i]; });
        return sums.slice();
      });
      // The tallest stack is drawn first, the ones below over it.
      var order = names.map(function (name, i) { return i; }).reverse();
      var bars = window.uPlot.paths.bars({ size: [0.8, 24] });
      var series = [{}].concat(order.map(function (i) {
        return { label: element.getAttribute("data-name-" + names[i]), fill: colour(names[i]), stroke: colour(names[i]), width: 0, paths: bars, points: { show: false } };
      }));
      return new window.uPlot(options(element, series, false), [data.times].concat(order.map(function (i) { return stacked[i]; })), element);
    }
    function times(element) {
      var series = [{}].concat(["p50", "p99"].map(function (name) {
        return { label: element.getAttribute("data-name-" + name), stroke: colour(name), width: 2, spanGaps: true, points: { show: true, size: 5, fill: colour(name) } };
      }));
      return new window.uPlot(options(element, series, true), [data.times, data.p50, data.p99], element);
    }
    function draw() {
      drawn.forEach(function (plot) { plot.destroy(); });
      drawn = [arrivals(place.querySelector("[data-plot=arrivals]")), times(place.querySelector("[data-plot=times]"))];
    }
    var waiting;
    window.addEventListener("resize", function () { clearTimeout(waiting); waiting = setTimeout(draw, 150); });
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-bs-theme"] });
    draw();
  });
})();
