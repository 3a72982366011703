// Shows what is pushed, and opens its page. Nothing is kept for offline use.
"use strict";
self.addEventListener("push", function (event) {
  var message = event.data ? event.data.json() : {};
  event.waitUntil(self.registration.showNotification(message.title || "Portaria", {
    body: message.body || "", tag: message.tag, data: { url: message.url || "/" }
  }));
});
self.addEventListener("notificationclick", function (event) {
  event.notification.close();
  var url = new URL(event.notification.data.url, self.location.origin);
  if (url.origin !== self.location.origin) return;
  event.waitUntil(self.clients.matchAll({ type: "window" }).then(function (pages) {
    var open = pages.find(function (page) { return "focus" in page; });
    return open ? open.focus().then(function (page) { return page.navigate(url.href); }) : self.clients.openWindow(url.href);
  }));
});
