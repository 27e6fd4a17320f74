"""Servers that send interim responses (1xx) and never another: no deadline begins anew with each of them."""

import socket
import threading
import time
import unittest

from agent_fixture import AgentFixture

TIMED_OUT = 1006


class Interim:
    """A server that answers with interim responses alone, ten a second."""

    def __init__(self, response):
        self.response, self.begun = response, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.begun += 1
            threading.Thread(target=self.speak, args=(connection,), daemon=True).start()

    def speak(self, connection):
        with connection:
            try:
                connection.recv(65536)
                while True:
                    connection.sendall(self.response)
                    time.sleep(0.1)
            except OSError:
                pass

    def stop(self):
        self.listener.close()


class InterimResponses(AgentFixture):
    def test_request_whose_server_sends_interim_responses_alone_times_out(self):
        _, _, client = self.alice()
        for response in (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n",
                         b"HTTP/1.1 100 Continue\r\n\r\n"):
            server = Interim(response)
            self.addCleanup(server.stop)
            client.call("provider.update", {"provider": "practice", "allowedOrigins": [server.origin]})
            began = time.monotonic()
            error = self.refused(TIMED_OUT, lambda: client.call("request.send", {
                "account": "alice", "method": "POST", "url": server.origin + "/x", "timeoutSeconds": 2}))
            self.assertLess(time.monotonic() - began, 8)
            self.assertEqual(error.data["outcome"], "unknown")
            self.assertEqual(server.begun, 1)


if __name__ == "__main__":
    unittest.main()
