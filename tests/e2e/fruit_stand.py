"""Two Serve applications for tests, with the routes of KubeRay's sample: /fruit and /calc. No internet is needed."""

FRUIT_STAND = """
import os
from ray import serve
from starlette.requests import Request

VERSION = os.environ.get("STAND_VERSION", "1")

@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Fruit:
    def __init__(self):
        self.price = 0

    def reconfigure(self, config):
        self.price = config["price"]

    async def __call__(self, request: Request):
        amount = int(request.query_params.get("amount", "1"))
        return {"cost": amount * self.price, "version": VERSION}

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
