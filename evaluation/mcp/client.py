"""A client of `dwell mcp`, for scripts: starts it, and calls its tools one after another."""

import json
import subprocess


class Failed(Exception):
    """The server answered with an error, or a tool did; the text says which."""


class Client:
    """`command`: the server with its arguments. `cwd`: where it and the programs run."""

    def __init__(self, command, cwd=None, env=None):
        self.server = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.calls = 0
        client = {"name": "loop", "version": "1"}
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.server_info = self.request("initialize", told)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message):
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()

    def request(self, method, params):
        """The result of a request; others' messages are passed over."""
        self.calls += 1
        self._send({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params})
        for line in self.server.stdout:
            message = json.loads(line)
            if message.get("id") == self.calls:
                if "error" in message:
                    raise Failed(message["error"]["message"])
                return message["result"]
        raise Failed("the server ended")

    def call(self, tool, **arguments):
        """What a tool answers: its text, and its result as JSON (none where it has none)."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(block["text"] for block in result["content"])
        if result.get("isError"):
            raise Failed(text)
        return text, result.get("structuredContent")

    def close(self):
        """Ends the server; gives its exit status."""
        self.server.stdin.close()
        return self.server.wait(timeout=30)
