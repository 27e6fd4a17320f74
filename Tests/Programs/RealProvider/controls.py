"""Administrative controls for the tests: POST /controls/WHAT with JSON. On loopback only, and no part of OAuth."""

import json

from django.contrib.auth.models import User
from django.http import JsonResponse
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.models import AccessToken, RefreshToken
from oauth2_provider.settings import oauth2_settings

from claims import Validator
from keys import new_key


def person(name, password, first="", last="", email=""):
    User.objects.create_user(name, email, password, first_name=first, last_name=last)


def disable(name):
    User.objects.filter(username=name).update(is_active=False)


def delete(name):
    User.objects.get(username=name).delete()


def tokens(name):
    """The number of live tokens of a person in the provider's database."""
    return {
        "access": AccessToken.objects.filter(user__username=name).count(),
        "refresh": RefreshToken.objects.filter(user__username=name, revoked__isnull=True).count(),
    }


def change(refuses_disabled=None, **settings):
    if refuses_disabled is not None:
        Validator.refuses_disabled = refuses_disabled
    for name, value in settings.items():
        getattr(oauth2_settings, name)  # only what exists
        setattr(oauth2_settings, name, value)


def rotate_key(keep):
    old = oauth2_settings.OIDC_RSA_PRIVATE_KEY
    oauth2_settings.OIDC_RSA_PRIVATE_KEYS_INACTIVE = [old] if keep else []
    oauth2_settings.OIDC_RSA_PRIVATE_KEY = new_key()


CONTROLS = {
    control.__name__: control for control in (change, delete, disable, person, rotate_key, tokens)
}


@csrf_exempt
def control(request, what):
    return JsonResponse(CONTROLS[what](**json.loads(request.body)) or {})
