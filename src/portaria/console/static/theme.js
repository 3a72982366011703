// Before anything is drawn: dark or light, as chosen in the profile or as the device has it.
(function () {
  "use strict";
  var root = document.documentElement;
  var device = window.matchMedia("(prefers-color-scheme: dark)");
  function apply() {
    var chosen = root.dataset.theme;
    var dark = chosen === "dark" || (chosen !== "light" && device.matches);
    root.setAttribute("data-bs-theme", dark ? "dark" : "light");
  }
  device.addEventListener("change", apply);
  apply();
})();
