from heliostat.operator.raycronjob.reconciler import add_controller

__all__ = ["add_controller"]
