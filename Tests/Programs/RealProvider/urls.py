from django.contrib.auth.views import LoginView
from django.urls import include, path
from oauth2_provider.urls import base_urlpatterns, metadata_urlpatterns, oidc_urlpatterns

import controls

_toolkit = ([*base_urlpatterns, *oidc_urlpatterns, *metadata_urlpatterns], "oauth2_provider")

urlpatterns = [
    path("login", LoginView.as_view()),
    path("o/", include(_toolkit)),
    # RFC 8414, section 3.1: before the path of the issuer.
    path("", include((metadata_urlpatterns, "metadata"))),
    path("controls/<str:what>", controls.control),
]
