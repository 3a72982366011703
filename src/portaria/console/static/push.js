// Browser notifications on and off, and a test.
(function () {
  "use strict";
  document.addEventListener("DOMContentLoaded", function () {
    var card = document.querySelector("[data-push]");
    if (!card) return;
    var words = card.dataset;
    var state = card.querySelector("[data-push-state]");
    var buttons = { on: card.querySelector("[data-push-on]"), off: card.querySelector("[data-push-off]"), test: card.querySelector("[data-push-test]") };
    var token = document.querySelector("input[name=csrf]").value;

    function post(path, type, body) {
      return fetch(path, { method: "POST", headers: { "content-type": type, "x-csrf-token": token }, body: body, credentials: "same-origin" });
    }
    function show(sentence, on, off) {
      state.textContent = sentence;
      buttons.on.hidden = !on;
      buttons.off.hidden = !off;
      buttons.test.hidden = !off;
    }
    function able() { return window.isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window; }
    function registration() {
      return navigator.serviceWorker.register("/service-worker.js", { scope: "/" }).then(function () { return navigator.serviceWorker.ready; });
    }
    function look() {
      if (!able()) { show(words.sayUnable, false, false); return Promise.resolve(); }
      if (Notification.permission === "denied") { show(words.sayDenied, false, false); return Promise.resolve(); }
      return registration().then(function (r) { return r.pushManager.getSubscription(); }).then(function (subscription) {
        show(subscription ? words.sayOn : words.sayOff, !subscription, Boolean(subscription));
      }).catch(function () { show(words.sayUnable, false, false); });
    }
    function bytes(key) {
      var padded = key.replace(/-/g, "+").replace(/_/g, "/") + "====".slice(0, (4 - key.length % 4) % 4);
      return Uint8Array.from(atob(padded), function (c) { return c.charCodeAt(0); });
    }
    buttons.on.addEventListener("click", function () {
      Notification.requestPermission().then(function (answer) {
        if (answer !== "granted") { show(words.sayDenied, true, false); return undefined; }
        return registration()
          .then(function (r) { return r.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(words.push) }); })
          .then(function (subscription) { return post("/profile/push", "application/json", JSON.stringify(subscription)); })
          .then(function (answer) { if (!answer.ok) throw new Error("refused"); return look(); });
      }).catch(function () { show(words.sayUnable, true, false); });
    });
    buttons.off.addEventListener("click", function () {
      registration().then(function (r) { return r.pushManager.getSubscription(); }).then(function (subscription) {
        if (!subscription) return undefined;
        return post("/profile/push/off", "application/x-www-form-urlencoded", new URLSearchParams({ endpoint: subscription.endpoint }).toString())
          .then(function () { return subscription.unsubscribe(); });
      }).then(look);
    });
    buttons.test.addEventListener("click", function () {
      post("/profile/push/test", "application/x-www-form-urlencoded", "").then(function (answer) { return answer.json(); }).then(function (told) {
        state.textContent = told.told ? words.sayTold.replace("{n}", told.told) : words.sayNobody;
      }).catch(function () { state.textContent = words.sayNobody; });
    });
    look();
  });
})();
