// What the pages do beyond links and forms. Every sentence comes from the page: nothing here speaks.
(function () {
  "use strict";
  var body = document.body;

  // ---- Menu, small dropdowns ------------------------------------------------------------------
  document.addEventListener("click", function (event) {
    var toggler = event.target.closest("[data-toggle]");
    if (toggler) {
      var menu = document.getElementById(toggler.dataset.toggle);
      var open = menu.classList.toggle("show");
      toggler.setAttribute("aria-expanded", String(open));
    }
    document.querySelectorAll("details[data-dropdown][open]").forEach(function (details) {
      if (!details.contains(event.target)) details.open = false;
    });
  });
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details[data-dropdown][open]").forEach(function (details) {
      details.open = false;
      details.querySelector("summary").focus();
    });
  });

  // ---- Asking before what cannot be undone; a form is sent once -------------------------------
  document.addEventListener("submit", function (event) {
    var form = event.target;
    var question = (event.submitter && event.submitter.dataset.confirm) || form.dataset.confirm;
    if (question && !window.confirm(question)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (form.hasAttribute("hx-post") || form.method === "get") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "1";
  }, true);
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-sent]").forEach(function (form) { delete form.dataset.sent; });
  });
  document.addEventListener("change", function (event) {
    var form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });

  // ---- Short messages -------------------------------------------------------------------------
  function tell(text) {
    var list = document.getElementById("toasts");
    if (!list || !text) return;
    var toast = document.createElement("div");
    toast.className = "toast show";
    toast.textContent = text;
    list.appendChild(toast);
    setTimeout(function () { toast.remove(); }, 6000);
  }
  document.addEventListener("htmx:sendError", function () { tell(body.dataset.sayOffline); });
  document.addEventListener("htmx:responseError", function (event) {
    var quiet = event.detail.elt && event.detail.elt.hasAttribute("data-quiet");
    if (!quiet) tell(body.dataset.sayFailed);
  });
  var done = document.querySelector("[data-done]");
  if (done && window.history.replaceState) {
    var here = new URL(window.location.href);
    here.searchParams.delete("done");
    window.history.replaceState(null, "", here);
  }

  // ---- Copying --------------------------------------------------------------------------------
  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-copy]");
    if (!button) return;
    var field = document.getElementById(button.dataset.copy);
    var text = field.value === undefined ? field.textContent : field.value;
    if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text);
    else if (field.select) { field.select(); document.execCommand("copy"); }
    tell(body.dataset.sayCopied);
  });

  // ---- How long ago, kept true ----------------------------------------------------------------
  var words = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always" });
  var steps = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  function refreshAges() {
    var now = Date.now();
    document.querySelectorAll("time[data-ago]").forEach(function (time) {
      var seconds = Math.max(0, (now - Date.parse(time.dateTime)) / 1000);
      var step = steps.find(function (s) { return seconds >= s[1]; }) || steps[steps.length - 1];
      var text = words.format(-Math.round(seconds / step[1]), step[0]);
      if (time.textContent !== text) time.textContent = text;
    });
  }
  setInterval(refreshAges, 15000);

  // ---- Lists that grow ------------------------------------------------------------------------
  document.addEventListener("htmx:afterRequest", function (event) {
    var link = event.detail.elt;
    if (!link || !link.hasAttribute("data-extends") || !event.detail.successful) return;
    var list = event.detail.target && event.detail.target.closest("[data-refresh]");
    if (list) list.dataset.extended = "1";
  });

  // ---- Live -----------------------------------------------------------------------------------
  // The server says what kind of thing changed; whatever shows such things asks for itself anew.
  // A list that was extended by hand is not pulled from under its reader: it offers to load anew.
  function refresh(kind) {
    document.querySelectorAll("[data-refresh]").forEach(function (element) {
      if (element.dataset.refresh.split(" ").indexOf(kind) < 0) return;
      if (element.dataset.extended) {
        var hint = document.querySelector("[data-anew='" + element.id + "']");
        if (hint) hint.hidden = false;
      } else if (window.htmx) {
        window.htmx.trigger(element, "refresh");
      }
    });
  }
  function badges(counts) {
    [["badge-notices", counts.notices], ["badge-notices-top", counts.notices], ["badge-conversations", counts.unread]].forEach(function (pair) {
      var badge = document.getElementById(pair[0]);
      if (!badge || badge.dataset.count === String(pair[1])) return;
      badge.dataset.count = String(pair[1]);
      badge.classList.toggle("is-zero", pair[1] === 0);
      badge.textContent = pair[1] > 99 ? "99+" : pair[1] || "";
    });
  }
  if (body.dataset.live && window.EventSource) {
    // What happened since the page was made, or while the connection was lost, the server tells first.
    var source = new EventSource(body.dataset.live);
    source.addEventListener("badges", function (event) { badges(JSON.parse(event.data)); });
    source.addEventListener("changed", function (event) { JSON.parse(event.data).forEach(refresh); });
    window.addEventListener("pagehide", function () { source.close(); });
    window.addEventListener("pageshow", function (event) { if (event.persisted) window.location.reload(); });
  }

  // ---- A thread: at its end, and read when somebody really looks ------------------------------
  function threadEnd() {
    var thread = document.querySelector("[data-thread]");
    if (thread && !thread.dataset.extended) thread.scrollTop = thread.scrollHeight;
  }
  function markSeen() {
    var mark = document.querySelector("[data-read]");
    if (mark && document.visibilityState === "visible" && window.htmx) window.htmx.trigger(mark, "seen");
  }
  document.addEventListener("visibilitychange", markSeen);
  document.addEventListener("DOMContentLoaded", function () { threadEnd(); markSeen(); });
  document.addEventListener("htmx:afterSettle", function (event) {
    refreshAges();
    if (event.target.matches && event.target.matches("[data-thread]")) { threadEnd(); markSeen(); }
  });
})();
