// The rotation's queue and the conditions, edited in the page and saved with its form. What happens is
// said aloud (an aria-live line), and the focus stays with the row that moved.
(function () {
  "use strict";
  document.addEventListener("DOMContentLoaded", function () {
    var form = document.getElementById("rule-form");
    if (!form) return;

    function sayIn(panel, sentence, entry, position) {
      var line = panel.querySelector("[data-queue-said]");
      line.textContent = sentence.replace("{name}", entry.dataset.name).replace("{position}", position);
    }

    // ---- Fixed, in rotation, or nobody ----
    function showMode() {
      var chosen = form.querySelector("input[name=mode]:checked");
      form.querySelectorAll("[data-mode-panel]").forEach(function (panel) {
        panel.hidden = !chosen || panel.dataset.modePanel !== chosen.value;
      });
    }
    form.addEventListener("change", function (event) {
      if (event.target.name === "mode") showMode();
    });
    showMode();

    // ---- Conditions ----
    document.addEventListener("click", function (event) {
      var add = event.target.closest("[data-add-row]");
      if (add) {
        var rows = add.parentElement.querySelector("[data-rows]");
        rows.appendChild(document.getElementById(add.dataset.addRow).content.cloneNode(true));
        rows.lastElementChild.querySelector("select").focus();
      }
      var remove = event.target.closest("[data-remove-row]");
      if (remove) {
        var list = remove.closest("fieldset");
        remove.closest("[data-row]").remove();
        list.querySelector("[data-add-row]").focus();
      }
    });

    // ---- The queue ----
    var queue = form.querySelector("[data-queue]");
    if (!queue) return;
    var panel = queue.closest("[data-mode-panel]");
    var words = panel.dataset;

    function entries() { return Array.prototype.slice.call(queue.querySelectorAll("[data-entry]")); }
    function position(entry) { return entries().indexOf(entry) + 1; }
    function refresh() {
      var all = entries();
      panel.querySelector("[data-queue-none]").hidden = all.length > 0;
      all.forEach(function (entry, index) {
        entry.querySelector("[data-move=up]").disabled = index === 0;
        entry.querySelector("[data-move=down]").disabled = index === all.length - 1;
      });
      var taken = all.map(function (entry) { return entry.querySelector("input[name=queue]").value; });
      panel.querySelectorAll("[data-queue-member] option").forEach(function (option) {
        option.disabled = taken.indexOf(option.value) >= 0;
      });
    }

    queue.addEventListener("click", function (event) {
      var entry = event.target.closest("[data-entry]");
      var move = event.target.closest("[data-move]");
      if (move) {
        var other = move.dataset.move === "up" ? entry.previousElementSibling : entry.nextElementSibling;
        if (!other) return;
        queue.insertBefore(entry, move.dataset.move === "up" ? other : other.nextElementSibling);
        refresh();
        (move.disabled ? entry.querySelector("[data-move]:not([disabled])") || move : move).focus();
        sayIn(panel, words.sayMoved, entry, position(entry));
      } else if (event.target.closest("[data-remove]")) {
        var next = entry.nextElementSibling || entry.previousElementSibling;
        entry.remove();
        refresh();
        (next ? next.querySelector("[data-remove]") : panel.querySelector("[data-queue-member]")).focus();
        sayIn(panel, words.sayRemoved, entry, 0);
      }
    });
    queue.addEventListener("change", function (event) {
      if (!event.target.matches("[data-pause]")) return;
      var entry = event.target.closest("[data-entry]");
      entry.classList.toggle("is-paused", event.target.checked);
      sayIn(panel, event.target.checked ? words.sayPaused : words.sayResumed, entry, 0);
    });
    var add = panel.querySelector("[data-queue-add]");
    if (add) {
      add.addEventListener("click", function () {
        var select = panel.querySelector("[data-queue-member]");
        var option = select.selectedOptions[0];
        if (!option || !option.value || option.disabled) { select.focus(); return; }
        queue.appendChild(document.getElementById("queue-template").content.cloneNode(true));
        var entry = queue.lastElementChild;
        entry.dataset.name = option.dataset.name;
        entry.querySelectorAll("input[name=queue], input[name=paused]").forEach(function (input) { input.value = option.value; });
        entry.querySelectorAll("[data-entry-name]").forEach(function (name) { name.textContent = option.dataset.name; });
        select.value = "";
        refresh();
        sayIn(panel, words.sayAdded, entry, position(entry));
        select.focus();
      });
    }
    if (window.Sortable && !queue.closest("fieldset[disabled]")) {
      window.Sortable.create(queue, {
        handle: "[data-grip]", animation: 120, ghostClass: "is-ghost",
        onEnd: function (moved) { refresh(); sayIn(panel, words.sayMoved, moved.item, position(moved.item)); }
      });
    }
    refresh();
  });
})();
