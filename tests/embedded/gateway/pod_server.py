"""A server for Pods of tests, the standard library alone: says its name, streams, echoes on an upgraded connection."""

import asyncio
import sys

NAME = sys.argv[1]


async def serve(reader, writer):  # type: ignore[no-untyped-def]
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ")[1]
            if path == b"/upgrade":
                writer.write(b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
                while data := await reader.read(1000):
                    writer.write(data.upper())
                return
            if path == b"/stream":
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for number in range(5):
                    writer.write(f"1\r\n{number}\r\n".encode())
                    await writer.drain()
                    await asyncio.sleep(0.1)
                writer.write(b"0\r\n\r\n")
            else:
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(NAME)}\r\n\r\n{NAME}".encode())
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "0.0.0.0", 8000)  # noqa: S104  of the Pod alone
    await server.serve_forever()


asyncio.run(main())
