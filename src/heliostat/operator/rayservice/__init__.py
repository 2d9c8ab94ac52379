from heliostat.operator.rayservice.reconciler import add_controller

__all__ = ["add_controller"]
