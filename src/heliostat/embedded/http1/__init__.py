"""HTTP/1.1 as bytes: heads and bodies, read and written. Probes, the API server's proxy and the gateway share it.

Pure but for ``streams``, which reads heads and bodies from asyncio's streams.
"""
