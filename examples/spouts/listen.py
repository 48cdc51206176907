"""Receives lines over TCP: those of a connection are one transaction."""

import os
import socketserver

from streamlets import spout


class Lines(socketserver.StreamRequestHandler):
    """A connection. Its lines are delivered at its end, and their number is the answer."""

    def handle(self) -> None:
        sender, _ = self.client_address
        with spout.transaction() as transaction:
            for line in self.rfile:
                transaction.emit({"sender": sender, "line": line.decode().rstrip("\r\n")})
        receipt = transaction.receipt
        assert receipt is not None
        self.wfile.write(f"{receipt.records}\n".encode())


class Server(socketserver.ThreadingTCPServer):
    """A server that can be started again at once."""

    allow_reuse_address = True
    daemon_threads = True


with Server(("127.0.0.1", int(os.environ["STREAMLETS_SPOUT_PORT"])), Lines) as server:
    print("listening", flush=True)
    server.serve_forever()
