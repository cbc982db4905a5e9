"""Settings. Everything that differs between sites comes from the environment; docker-compose.yml uses the same names.

TRAINYARD_SECRET_KEY      required unless TRAINYARD_DEBUG is on
TRAINYARD_DEBUG           on | off (off)
TRAINYARD_ALLOWED_HOSTS   comma-separated (localhost,127.0.0.1,[::1])
TRAINYARD_HTTPS           on | off (off): secure cookies, HSTS, trust X-Forwarded-Proto
TRAINYARD_DATA_DIR        var: database, runs, datasets, models
TRAINYARD_ROOTS           folders from which datasets and weights may be taken, separated by ':'
TRAINYARD_UPLOADS         folder for uploaded datasets, inside the roots (uploads in the first root)
TRAINYARD_UPLOAD_LIMIT_GB largest file that may be uploaded (20)
TRAINYARD_NODE            name of this node (host name)
TRAINYARD_HARDWARE        row of the hardware table that this node is (what is plugged in, else cpu)
TRAINYARD_DEVICES         how many devices this node offers (as many as are plugged in, else CPU cores)
DATABASE_URL              sqlite:///… or postgres://…
REDIS_URL                 unix:///path or redis://host:port/0
TRAINYARD_METRICS_TOKEN   lets a scraper read /metrics with "Authorization: Bearer …" (staff may read it anyway)
TRAINYARD_LANGUAGE        en | zh-hans: for visitors whose browser asks for neither
TRAINYARD_TRUSTED_ORIGINS comma-separated, each with its scheme: origins whose forms are taken (behind some proxies)
TRAINYARD_TRUSTED_PROXIES comma-separated addresses or networks of proxies whose X-Forwarded-For is believed (none)
TRAINYARD_LOG_LEVEL       of the log on standard error (INFO)
TRAINYARD_STOP_GRACE_SECONDS   between TERM and KILL when a run is stopped (60; read by the worker's supervisors)
TZ                        time zone of what is shown (UTC)
"""

import os
import socket
from pathlib import Path

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent.parent


def env_flag(name: str, default: bool = False) -> bool:
    value = os.environ.get(name, "on" if default else "off").lower()
    if value not in ("on", "off", "1", "0", "true", "false"):
        raise ImproperlyConfigured(f"{name}={value!r}: use on or off")
    return value in ("on", "1", "true")


def env_number(name: str, default: int) -> int:
    value = os.environ.get(name) or str(default)
    if not value.isdecimal():
        raise ImproperlyConfigured(f"{name}={value!r}: use a whole number")
    return int(value)


def env_list(name: str, default: str, separator: str = ",") -> list[str]:
    return [item.strip() for item in os.environ.get(name, default).split(separator) if item.strip()]


DEBUG = env_flag("TRAINYARD_DEBUG")
SECRET_KEY = os.environ.get("TRAINYARD_SECRET_KEY", "")
if not SECRET_KEY:
    if not DEBUG:
        raise ImproperlyConfigured("TRAINYARD_SECRET_KEY is not set (TRAINYARD_DEBUG=on does without one)")
    SECRET_KEY = "debug-only-" + "0" * 40
ALLOWED_HOSTS = env_list("TRAINYARD_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")

DATA_DIR = Path(os.environ.get("TRAINYARD_DATA_DIR", BASE_DIR / "var")).resolve()
RUNS_DIR = DATA_DIR / "runs"
ROOTS = tuple(
    Path(root).resolve() for root in env_list("TRAINYARD_ROOTS", f"{DATA_DIR}/datasets:{DATA_DIR}/models", ":")
)
UPLOADS_DIR = Path(os.environ.get("TRAINYARD_UPLOADS") or ROOTS[0] / "uploads").resolve()
if not any(UPLOADS_DIR.is_relative_to(root) for root in ROOTS):
    raise ImproperlyConfigured(f"TRAINYARD_UPLOADS={str(UPLOADS_DIR)!r} is not inside TRAINYARD_ROOTS")
UPLOAD_LIMIT_BYTES = env_number("TRAINYARD_UPLOAD_LIMIT_GB", 20) * 1_000_000_000
NODE = os.environ.get("TRAINYARD_NODE") or socket.gethostname()

INSTALLED_APPS = [
    "jobs",
    "webui",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "axes",
    "django_filters",
    "django_htmx",
    "django_prometheus",
    "import_export",
    "simple_history",
]
MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "webui.middleware.WholePageLogin",
    "webui.failures.KnownFailures",
    "simple_history.middleware.HistoryRequestMiddleware",
    "axes.middleware.AxesMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
AXES_FAILURE_LIMIT = 6
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_HANDLER = "webui.throttle.Throttle"
AXES_IPWARE_META_PRECEDENCE_ORDER = ["REMOTE_ADDR"]  # should that package be there: proxies are webui.asgi's matter
LOGIN_FAILURES_PER_NAME = 60
"""Wrong passwords for one name, from all addresses together, within the same time."""
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "webui/locked_out.html"
METRICS_TOKEN = os.environ.get("TRAINYARD_METRICS_TOKEN", "")

ROOT_URLCONF = "webui.urls"
ASGI_APPLICATION = "webui.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "webui" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "job-list"
LOGOUT_REDIRECT_URL = "login"

DATABASES = {
    "default": dj_database_url.parse(os.environ.get("DATABASE_URL", f"sqlite:///{DATA_DIR}/trainyard.sqlite3"))
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # IMMEDIATE: a deferred transaction that turns into a writer fails instead of waiting.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA mmap_size=134217728;"
        "PRAGMA journal_size_limit=67108864;PRAGMA cache_size=-20000;",
    }

REDIS_URL = os.environ.get("REDIS_URL", f"unix://{DATA_DIR}/run/redis.sock")
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # Without socket_timeout=None an idle channel is closed while it waits for news.
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}]},
    }
}

CELERY_BROKER_URL = (
    REDIS_URL.replace("unix://", "redis+socket://") + "?virtual_host=0"
    if REDIS_URL.startswith("unix://")
    else REDIS_URL
)
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_DISABLE_PREFETCH = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Every task is short, without exception: a training is a detached process.
CELERY_TASK_TIME_LIMIT = 120
CELERY_TASK_SOFT_TIME_LIMIT = 90
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_keepalive": True,
    "health_check_interval": 25,
    # A page must not wait for a broker that is away: whatever could not be sent is sent again by the reconciler.
    "socket_connect_timeout": 3,
    "max_retries": 1,
    "interval_start": 0,
}

LANGUAGE_CODE = os.environ.get("TRAINYARD_LANGUAGE", "en")
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "webui" / "locale"]
USE_TZ = True
TIME_ZONE = os.environ.get("TZ", "UTC")

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],  # Bootstrap's style sheet holds the arrows of its selects
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
if env_flag("TRAINYARD_HTTPS"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
CSRF_TRUSTED_ORIGINS = env_list("TRAINYARD_TRUSTED_ORIGINS", "")
TRUSTED_PROXIES = env_list("TRAINYARD_TRUSTED_PROXIES", "")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("TRAINYARD_LOG_LEVEL", "INFO")},
}
