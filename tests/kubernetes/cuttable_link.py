# SPDX-License-Identifier: Apache-2.0
"""A TCP relay on loopback that a test can cut: what goes through it sees a broken network."""
import socket
import threading


class CuttableLink:
    """Relays to a port. While cut, open connections are reset and new ones refused."""

    def __init__(self, to_port):
        self.to_port = to_port
        self.lock = threading.Lock()
        self.sockets = set()
        self.is_cut = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        with self.lock:
            self.is_cut = True
            sockets, self.sockets = self.sockets, set()
        for one in sockets:
            _end(one)

    def mend(self):
        with self.lock:
            self.is_cut = False

    def close(self):
        self.listener.close()
        self.cut()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.to_port), timeout=5)
            except OSError:
                _end(near)
                continue
            far.settimeout(None)
            with self.lock:
                if self.is_cut:
                    _end(near)
                    _end(far)
                    continue
                self.sockets |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._relay, args=(source, sink), daemon=True).start()

    def _relay(self, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        with self.lock:
            self.sockets -= {source, sink}
        _end(source)
        _end(sink)


def _end(one):
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
