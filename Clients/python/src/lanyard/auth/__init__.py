"""Tokens for other libraries, each in a module of its own, which is imported by its name:

    lanyard.auth.requests   `LanyardAuth`, for `requests`
    lanyard.auth.httpx      `LanyardAuth`, for `httpx.Client` and `httpx.AsyncClient`
    lanyard.auth.google     `Credentials`, as in `google.auth.credentials`
    lanyard.auth.azure      `LanyardCredential` and `AsyncLanyardCredential`, as in `azure.core.credentials`
    lanyard.auth.keyring    a backend for `keyring`, which finds it by its entry point

None of the libraries is a dependency of this package.
"""

from ._origins import Origins

__all__ = ["Origins"]
