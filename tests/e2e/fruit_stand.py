"""Two Serve applications for tests, with the routes of KubeRay's sample: /fruit and /calc. No internet is needed.

``/fruit/stream`` answers in pieces. Which version a cluster runs is told by its environment.
"""

FRUIT_STAND = r"""
import asyncio, json, os
from ray import serve
from starlette.requests import Request
from starlette.responses import StreamingResponse

VERSION = os.environ.get("STAND_VERSION", "1")

@serve.deployment(ray_actor_options={"num_cpus": 0.1}, max_ongoing_requests=200)
class Fruit:
    def __init__(self):
        self.price = 0

    def reconfigure(self, config):
        self.price = config["price"]

    async def __call__(self, request: Request):
        if request.url.path.endswith("/stream"):
            pieces = int(request.query_params.get("pieces", "5"))
            return StreamingResponse(self.tell(pieces), media_type="application/jsonlines")
        amount = int(request.query_params.get("amount", "1"))
        return {"cost": amount * self.price, "version": VERSION}

    async def tell(self, pieces):
        for piece in range(pieces):
            yield json.dumps({"piece": piece, "version": VERSION}) + "\n"
            await asyncio.sleep(0.1)

@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Calc:
    async def __call__(self, request: Request):
        factors = [int(text) for text in request.query_params.get("factors", "1").split(",")]
        product = 1
        for factor in factors:
            product *= factor
        return {"product": product, "version": VERSION}

fruit = Fruit.bind()
calc = Calc.bind()
"""

_CONFIG = """
applications:
  - name: fruit
    import_path: stand:fruit
    route_prefix: /fruit
    deployments:
      - name: Fruit
        user_config: {{price: {price}}}
  - name: calc
    import_path: stand:calc
    route_prefix: /calc
"""


def serve_config(price: int) -> str:
    return _CONFIG.format(price=price)
