from rpd_core import Component, hookimpl


@hookimpl
def rpd_measures():
    return [Component("jaccard", "rpd_jaccard_measure:Jaccard", "Overlap of mutation and failure")]
