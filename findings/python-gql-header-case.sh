#!/usr/bin/env bash
# gql 4.0.0 for Python looks for the header Sec-WebSocket-Protocol in one spelling. Names of headers have no case (RFC
# 9110), and many servers write them in small letters. The client then speaks the older protocol of Apollo, in which a
# subscription begins with "start", to a server that has just agreed to graphql-transport-ws.
#
# Seen:
#   Sec-WebSocket-Protocol: subscribe
#   sec-websocket-protocol: start
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install --disable-pip-version-check 'gql[websockets]==4.0.0' websockets==15.0.1
found=$("$folder/venv/bin/python" - <<'PYTHON'
import asyncio, base64, hashlib, json, logging, struct
from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport

logging.disable(logging.CRITICAL)

async def message(reader):
    first, size = await reader.readexactly(2)
    size &= 127
    if size == 126:
        size = struct.unpack(">H", await reader.readexactly(2))[0]
    mask = await reader.readexactly(4)
    body = bytes(b ^ mask[n % 4] for n, b in enumerate(await reader.readexactly(size)))
    return json.loads(body)

def frame(value):
    body = json.dumps(value).encode()
    return bytes([0x81, len(body)]) + body

async def begins_with(header):
    began = asyncio.get_running_loop().create_future()

    async def serve(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        key = next(line.split(": ")[1] for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        lines = ["HTTP/1.1 101 Switching Protocols", "upgrade: websocket", "connection: upgrade", f"sec-websocket-accept: {accept}", f"{header}: graphql-transport-ws"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await message(reader)
        writer.write(frame({"type": "connection_ack"}))
        began.set_result((await message(reader))["type"])
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def subscribe():
        transport = WebsocketsTransport(url=f"ws://127.0.0.1:{port}/")
        async with Client(transport=transport) as session:
            async for _ in session.subscribe(gql("subscription { reviewAdded { id } }")):
                pass

    client = asyncio.ensure_future(subscribe())
    kind = await asyncio.wait_for(began, 10)
    client.cancel()
    await asyncio.gather(client, return_exceptions=True)
    server.close()
    return kind

for header in ["Sec-WebSocket-Protocol", "sec-websocket-protocol"]:
    print(f"{header}: {asyncio.run(begins_with(header))}")
PYTHON
)
expected='Sec-WebSocket-Protocol: subscribe
sec-websocket-protocol: start'
printf '%s\n' "$found"
[ "$found" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
