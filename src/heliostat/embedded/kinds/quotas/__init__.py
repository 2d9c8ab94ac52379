"""LimitRanges, ResourceQuotas and PriorityClasses: validation, and what counts against a quota."""
