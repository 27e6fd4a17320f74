"""The claims about a person, which the toolkit leaves to each project."""

from oauth2_provider.oauth2_validators import OAuth2Validator


class Validator(OAuth2Validator):
    oidc_claim_scope = None
    refuses_disabled = False  # the toolkit's default: a disabled person's sign-ins stay valid

    def get_additional_claims(self):
        return {
            "name": lambda request: request.user.get_full_name(),
            "email": lambda request: request.user.email,
        }

    def validate_refresh_token(self, refresh_token, client, request, *args, **kwargs):
        valid = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return valid and not (self.refuses_disabled and not request.user.is_active)
