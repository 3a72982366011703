"""Django under gunicorn: check the signature, save a row through the ORM, 200. One file is the project."""

import hmac
import json
import os
from urllib.parse import parse_qs, urlsplit

import django
from django.conf import settings

_SECRET = os.environ["SECRET"].encode()
_url = urlsplit(os.environ["DATABASE_URL"])
_query = parse_qs(_url.query)

settings.configure(
    SECRET_KEY="only-for-the-benchmark",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=[],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _url.path.lstrip("/"),
            "USER": _url.username,
            "PASSWORD": _url.password,
            "HOST": _query["host"][0],
            "PORT": _query["port"][0],
            "CONN_MAX_AGE": None,
        }
    },
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.http import HttpRequest, HttpResponse, JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402


class Webhook(models.Model):
    """What arrived."""

    headers = models.JSONField()
    raw_body = models.BinaryField()
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "bench"


def webhook(request: HttpRequest) -> HttpResponse:
    raw = request.body
    given = request.headers.get("X-Zernio-Signature", "")
    if not hmac.compare_digest(hmac.digest(_SECRET, raw, "sha256").hex(), given):
        return JsonResponse({"status": "refused"}, status=401)
    json.loads(raw)
    Webhook.objects.create(headers=dict(request.headers), raw_body=raw)
    return JsonResponse({"status": "accepted"})


urlpatterns = [path("webhook", webhook)]
application = get_wsgi_application()

if __name__ == "__main__":
    with connection.schema_editor() as editor:
        editor.create_model(Webhook)
