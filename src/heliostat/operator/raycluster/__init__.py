from heliostat.operator.raycluster.reconciler import add_controller

__all__ = ["add_controller"]
