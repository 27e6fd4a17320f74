"""A proxy as the one of an organisation."""

from __future__ import annotations

import socket
import threading
from typing import List


class Gate:
    """A proxy of an organisation that lets nothing through, and tells what it was asked for."""

    def __init__(self, answer: bytes = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n") -> None:
        self.asked: List[str] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.answer = answer
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.asked.append(connection.recv(4096).split(b"\r\n", 1)[0].decode())
                connection.sendall(self.answer)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
