"""Starts the provider: a fresh database, its clients, a server with a thread a request."""

import argparse
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 64


class Handler(WSGIRequestHandler):
    def address_string(self):
        return self.client_address[0]  # no name service is asked

    def log_message(self, *_):
        """Logs no request, since requests carry codes and tokens."""


def make_clients():
    from oauth2_provider.models import Application

    secret = secrets.token_urlsafe(24)
    # RFC 8252, section 7.3: the port of a loopback redirect is the client's choice.
    common = {"redirect_uris": "http://127.0.0.1/callback", "algorithm": Application.RS256_ALGORITHM}
    code, public, confidential = (
        Application.GRANT_AUTHORIZATION_CODE, Application.CLIENT_PUBLIC, Application.CLIENT_CONFIDENTIAL)
    device = Application.GRANT_DEVICE_CODE
    make = Application.objects.create
    make(client_id="public", name="Public", client_type=public, authorization_grant_type=code, **common)
    make(client_id="confidential", name="Confidential", client_type=confidential, authorization_grant_type=code,
         client_secret=secret, **common)
    make(client_id="device", name="Device", client_type=public, authorization_grant_type=device, **common)
    return secret


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--origin")
    origin = parser.parse_args().origin

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    directory = tempfile.mkdtemp(prefix="lanyard-real-provider-")
    try:
        server = make_server("127.0.0.1", 0, None, Server, Handler)
        origin = origin or f"http://127.0.0.1:{server.server_port}"
        os.environ["REAL_PROVIDER_DIRECTORY"], os.environ["REAL_PROVIDER_ORIGIN"] = directory, origin
        os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

        from django.core.management import call_command
        from django.core.wsgi import get_wsgi_application

        server.set_app(get_wsgi_application())
        call_command("migrate", verbosity=0)
        secret = make_clients()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(json.dumps({"issuer": f"{origin}/o", "port": server.server_port, "secret": secret}), flush=True)
        sys.stdin.read()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
