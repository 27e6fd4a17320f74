"""Django's settings for an OpenID provider."""

import os
import secrets

from keys import new_key

_directory, _origin = os.environ["REAL_PROVIDER_DIRECTORY"], os.environ["REAL_PROVIDER_ORIGIN"]

SECRET_KEY = secrets.token_hex(32)
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "urls"
LOGIN_URL = "/login"
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [os.path.join(os.path.dirname(__file__), "templates")],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]},
    }
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.path.join(_directory, "provider.sqlite3"),
        # Parallel requests wait for each other instead of failing with "database is locked".
        "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA synchronous=OFF"},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# The people of the tests have passwords that protect nothing.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGGING = {"version": 1, "disable_existing_loggers": True}

OAUTH2_PROVIDER = {
    "OIDC_ENABLED": True,
    "OIDC_ISS_ENDPOINT": f"{_origin}/o",
    "OIDC_RSA_PRIVATE_KEY": new_key(),
    "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
    "OAUTH2_VALIDATOR_CLASS": "claims.Validator",
    "OAUTH_DEVICE_VERIFICATION_URI": f"{_origin}/o/device/",
    "DEVICE_FLOW_INTERVAL": 1,
    "PKCE_REQUIRED": True,
    "ROTATE_REFRESH_TOKEN": True,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ACCESS_TOKEN_EXPIRE_SECONDS": 300,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 86400,
    # A test may change a setting at run time (controls.py).
    "ALWAYS_RELOAD_OAUTHLIB_CORE": True,
    "SCOPES": {scope: scope for scope in ("openid", "profile", "email", "offline_access", "introspection")},
    "DEFAULT_SCOPES": ["openid"],
}
